// SPDX-License-Identifier: Apache-2.0
#include "drift/facts.hpp"

#include <gtest/gtest.h>

namespace autopilot::drift {
namespace {

TEST(FactSet, is_read_back_as_it_was_written) {
  FactSet set{.node = "gpu-7", .time = "2026-01-15T08:00:00Z", .facts = {}, .missing = {}};
  set.facts["kernel.release"] = {"6.8", "/proc/sys/kernel/osrelease"};
  set.facts["sysctl.net.ipv4.tcp_rmem"] = {"4096 131072 6291456", ""};
  set.facts["machine.product"] = {"a \"b\": #c\ttab", "x"};
  set.facts["cpu.smt"] = {"true", "a word, not a flag"};
  set.missing["gpu.*"] = "the driver does not answer: 3";
  const auto read = parse_facts(format_facts(set), "a.yaml");
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(read->node, set.node);
  EXPECT_EQ(read->time, set.time);
  EXPECT_EQ(read->facts, set.facts);
  EXPECT_EQ(read->missing, set.missing);
}

TEST(FactSet, is_read_from_json) {
  const auto read =
      parse_facts(R"({"node":"a","facts":{"kernel.release":{"value":"6.8","source":"x"}}})", "a.json");
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(read->value_of("kernel.release"), "6.8");
}

TEST(FactSet, a_file_that_is_none_is_refused_with_its_lines) {
  const auto problem_of = [](std::string_view text) {
    const auto set = parse_facts(text, "a.yaml");
    return set ? std::string() : set.error().what;
  };
  EXPECT_NE(problem_of("").find("a.yaml"), std::string::npos);
  EXPECT_NE(problem_of("node: a\n").find("autopilot drift snapshot"), std::string::npos);
  EXPECT_NE(problem_of("node: a\nfacts:\n  kernel.relase: {value: x}\n").find("a.yaml:3: `kernel.relase`"),
            std::string::npos);
  EXPECT_NE(problem_of("node: a\nfacts:\n  gpu.*.vbios: {value: x}\n"), "");
  EXPECT_NE(problem_of("node: a\nfacts:\n  kernel.release: 6\n"), "");
  EXPECT_NE(problem_of("node: a\nfacts:\n  kernel.release: {value: " + std::string(5000, 'x') + "}\n"), "");
}

TEST(FactFamilies, select_the_keys_of_facts) {
  EXPECT_TRUE(matches("gpu.*.vbios", "gpu.0.vbios"));
  EXPECT_TRUE(matches("gpu.*.vbios", "gpu.*.vbios"));
  EXPECT_FALSE(matches("gpu.*.vbios", "gpu.vbios"));
  EXPECT_FALSE(matches("gpu.*.vbios", "gpu.0.vbios.x"));
  EXPECT_TRUE(matches("sysctl.*", "sysctl.vm.max_map_count"));
  EXPECT_FALSE(matches("sysctl.*", "sysctl"));
  EXPECT_FALSE(matches("sysctl.*", "sysctl."));
  EXPECT_EQ(family_of(""), nullptr);
  EXPECT_EQ(family_of(std::string(1000, 'a')), nullptr);
  for (const FactFamily& family : fact_families())
    EXPECT_EQ(family_of(family.key), &family) << family.key;
}

TEST(FactSet, only_families_with_known_members_have_absent_facts) {
  const FactSet set{.node = "a", .time = {}, .facts = {}, .missing = {}};
  EXPECT_EQ(set.value_of("module.nouveau"), kAbsent);
  EXPECT_EQ(set.value_of("kernel.release"), std::nullopt);
}

}  // namespace
}  // namespace autopilot::drift
