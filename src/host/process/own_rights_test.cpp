// SPDX-License-Identifier: Apache-2.0
#include "host/process/own_rights.hpp"

#include <filesystem>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/host/test_folder.hpp"

namespace autopilot::host {
namespace {

constexpr std::string_view kStatus =
    "Name:\tautopilot\nUid:\t1000\t1000\t1000\t1000\nGid:\t100\t100\t100\t100\nGroups:\t4 44 100 \n"
    "CapInh:\t0000000000000000\nCapPrm:\t0000000400080000\nCapEff:\t0000000400080000\n"
    "CapBnd:\t000001ffffffffff\n";

TEST(OwnRights, are_those_of_the_status_of_the_process) {
  const auto rights = parse_rights(kStatus);
  ASSERT_TRUE(rights) << rights.error().what;
  EXPECT_EQ(rights->uid, 1000U);
  EXPECT_FALSE(rights->is_root());
  ASSERT_EQ(rights->groups.size(), 3U);
  EXPECT_EQ(rights->groups[1].id, 44U);
  EXPECT_EQ(names_of_capabilities(rights->effective), "CAP_SYS_PTRACE, CAP_SYSLOG");
  EXPECT_TRUE(has_every_capability(rights->bounding));
  EXPECT_FALSE(has_every_capability(rights->effective));
}

TEST(OwnRights, of_a_malformed_status_are_an_error) {
  for (const std::string_view text : {"", "Uid:\t1\n", "\x01\xff", "Uid:\tx\ty\tz\tw\nGid:\t0\t0\t0\t0\n"})
    EXPECT_FALSE(parse_rights(text)) << text;
  std::string text(kStatus);
  text.replace(text.find("4 44"), 4, "4 -1");
  EXPECT_FALSE(parse_rights(text));
}

TEST(OwnRights, of_this_process_are_the_ones_of_the_kernel) {
  const auto rights = read_own_rights(Files{});
  ASSERT_TRUE(rights) << rights.error().what;
  EXPECT_EQ(rights->uid, ::geteuid());
  EXPECT_EQ(rights->gid, ::getegid());
}

TEST(OwnRights, name_the_groups_of_the_machine) {
  const TestFolder folder;
  folder.write("/proc/self/status", std::string(kStatus));
  folder.write("/etc/group", "adm:x:4:\nvideo:x:44:a,b\nbroken line\n");
  const auto rights = read_own_rights(Files(folder.path()));
  ASSERT_TRUE(rights) << rights.error().what;
  EXPECT_EQ(rights->groups[0].name, "adm");
  EXPECT_EQ(rights->groups[1].name, "video");
  EXPECT_EQ(rights->groups[2].name, "");
}

TEST(Capabilities, have_the_names_of_the_kernel) {
  EXPECT_EQ(capability_named("CAP_SYSLOG"), kReadKernelLog);
  EXPECT_EQ(capability_named("CAP_NONSENSE"), std::nullopt);
  EXPECT_EQ(names_of_capabilities(kNoCapabilities), "none");
  EXPECT_EQ(names_of_capabilities(Capabilities{1} << 63), "capability 63");
}

TEST(DeviceNodes, are_those_of_compute_drivers) {
  const TestFolder folder;
  for (const char* name : {"nvidia0", "nvidiactl", "nvidia-uvm", "nvidia-caps", "nvidiax", "kfd", "null"})
    folder.write(std::string("/dev/") + name, "");
  const auto nodes = scan_device_nodes(Files(folder.path()));
  ASSERT_EQ(nodes.size(), 4U);
  EXPECT_EQ(nodes[0].path, "/dev/kfd");
  EXPECT_TRUE(nodes[0].is_open_to_us);
  EXPECT_EQ(nodes[2].path, "/dev/nvidia0");
}

TEST(DeviceNodes, are_missing_without_a_driver) {
  EXPECT_TRUE(scan_device_nodes(Files(TestFolder().path())).empty());
}

}  // namespace
}  // namespace autopilot::host
