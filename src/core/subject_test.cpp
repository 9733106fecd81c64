// SPDX-License-Identifier: Apache-2.0
#include "core/subject.hpp"

#include <gtest/gtest.h>

namespace autopilot {
namespace {

TEST(Subject, text_reads_back) {
  for (const auto* text : {"gpu/0000:3b:00.0", "gpu_instance/0000:3b:00.0/1/0", "nvlink/0000:3b:00.0/17",
                           "nic_port/mlx5_0/1", "mount/", "host", "disk/nvme0", "pod/default/train-0"}) {
    const auto subject = parse_subject(text);
    if (std::string_view(text) == "mount/") {
      EXPECT_FALSE(subject) << "a mount has a key";
      continue;
    }
    ASSERT_TRUE(subject) << text;
    EXPECT_EQ(to_string(*subject), text);
  }
  EXPECT_EQ(to_string(*parse_subject("mount//")), "mount//");
}

TEST(Subject, refuses_unknown_kinds_and_missing_keys) {
  for (const auto* text : {"", "/", "gpu", "GPU/0000:3b:00.0", "printer/1", "gpu /x"})
    EXPECT_EQ(parse_subject(text), std::nullopt) << text;
}

TEST(Subject, identity_is_kind_and_key) {
  Subject first{.kind = SubjectKind::gpu, .key = "0000:3b:00.0", .index = 0, .uuid = "GPU-a", .serial = "1"};
  Subject renumbered = first;
  renumbered.index = 3;
  renumbered.uuid = {};
  EXPECT_EQ(first, renumbered);
  renumbered.key = "0000:5d:00.0";
  EXPECT_NE(first, renumbered);
  EXPECT_LT(first, renumbered);
}

TEST(SubjectKind, words_read_back) {
  for (int kind = 0; kind <= static_cast<int>(SubjectKind::domain); ++kind) {
    const auto value = static_cast<SubjectKind>(kind);
    EXPECT_EQ(parse_subject_kind(to_string(value)), value);
  }
}

TEST(PciAddress, all_spellings_become_the_kernels) {
  for (const auto* text :
       {"0000:3b:00.0", "0000:3B:00.0", "00000000:3B:00.0", "0000:3b:00", "3b:00", "3B:00.0"})
    EXPECT_EQ(canonical_pci_address(text), "0000:3b:00.0") << text;
  EXPECT_EQ(canonical_pci_address("0001:00:1f.7"), "0001:00:1f.7");
  EXPECT_EQ(canonical_pci_address("00010000:3b:00.0"), "10000:3b:00.0");
}

TEST(PciAddress, refuses_what_is_none) {
  for (const auto* text :
       {"", ":", "3b", "3b:", ":00", "3b:20", "100:00", "3b:00.8", "3b:00.", "3b:00.0.0", "zz:00",
        "0:0:3b:00", "100000000:3b:00.0", "0000:3b:00.0 ", " 3b:00", "-1:00:00", "0x3b:00"})
    EXPECT_EQ(canonical_pci_address(text), std::nullopt) << text;
  EXPECT_EQ(canonical_pci_address(std::string(1 << 20, ':')), std::nullopt);
}

TEST(Port, at_a_node_is_none_of_this_machine) {
  EXPECT_EQ(to_string(port_at("gpu-5", "mlx5_0/1")), "nic_port/gpu-5:mlx5_0/1");
  EXPECT_TRUE(is_port_at_node(port_at("gpu-5", "net0")));
  EXPECT_EQ(parse_subject("nic_port/gpu-5:net0"), port_at("gpu-5", "net0"));
  EXPECT_FALSE(is_port_at_node({SubjectKind::nic_port, "mlx5_0/1", {}, "", ""}));
  EXPECT_FALSE(is_port_at_node({SubjectKind::gpu, "0000:3b:00.0", {}, "", ""}));
}

TEST(Link, has_two_ends_or_tells_one) {
  const Subject link{SubjectKind::link, "0000:3b:00.0|0000:5e:00.0", {}, "", ""};
  EXPECT_EQ(ends_of(link).first, "0000:3b:00.0");
  EXPECT_EQ(ends_of(link).second, "0000:5e:00.0");
  const Subject half{SubjectKind::link, "0000:3b:00.0", {}, "", ""};
  EXPECT_EQ(ends_of(half).first, "0000:3b:00.0");
  EXPECT_EQ(ends_of(half).second, "");
}

}  // namespace
}  // namespace autopilot
