// SPDX-License-Identifier: Apache-2.0
#include "drift/recipe.hpp"

#include <gtest/gtest.h>

namespace autopilot::drift {
namespace {

FactSet machine() {
  FactSet set{.node = "a", .time = {}, .facts = {}, .missing = {}};
  for (const auto& [key, value] :
       std::initializer_list<std::pair<const char*, const char*>>{{"kernel.release", "6.8.0-51-generic"},
                                                                  {"kernel.argument.iommu", "pt"},
                                                                  {"driver.nvidia", "550.54.15"},
                                                                  {"gpu.0.vbios", "96.00.74.00.01"},
                                                                  {"gpu.1.vbios", "96.00.89.00.01"},
                                                                  {"sysctl.vm.max_map_count", "262144"},
                                                                  {"limit.locked_memory", "unlimited"},
                                                                  {"mtu.ib0", "2044"}})
    set.facts[key] = {value, "test"};
  return set;
}

std::vector<Comparison> compared_with(const std::string& facts, const FactSet& set = machine()) {
  const auto recipe = parse_recipe("facts:\n" + facts, "recipe.yaml");
  EXPECT_TRUE(recipe) << recipe.error().what;
  return recipe ? compare(set, *recipe) : std::vector<Comparison>{};
}

RowResult result_of(const std::string& row) {
  const auto all = compared_with("  " + row + "\n");
  EXPECT_EQ(all.size(), 1U) << row;
  return all.empty() ? RowResult::missing : all.front().result;
}

std::string problem_of(const std::string& text) {
  const auto recipe = parse_recipe(text, "recipe.yaml");
  return recipe ? "" : recipe.error().what;
}

TEST(Recipe, a_value_a_list_a_range_and_a_least_version_are_expected) {
  EXPECT_EQ(result_of("kernel.release: 6.8.0-51-generic"), RowResult::as_expected);
  EXPECT_EQ(result_of("kernel.release: 6.8.0-52-generic"), RowResult::differs);
  EXPECT_EQ(result_of("kernel.argument.iommu: [pt, 'on']"), RowResult::as_expected);
  EXPECT_EQ(result_of("kernel.argument.iommu: ['off', 'on']"), RowResult::differs);
  EXPECT_EQ(result_of("driver.nvidia: {min_version: 550.54}"), RowResult::as_expected);
  EXPECT_EQ(result_of("driver.nvidia: {min_version: 550.90.07}"), RowResult::differs);
  EXPECT_EQ(result_of("sysctl.vm.max_map_count: {from: 262144}"), RowResult::as_expected);
  EXPECT_EQ(result_of("sysctl.vm.max_map_count: {from: 0, to: 262143}"), RowResult::differs);
  EXPECT_EQ(result_of("kernel.release: {from: 6}"), RowResult::differs) << "no number is in no range";
  EXPECT_EQ(result_of("limit.locked_memory: {from: 1e9}"), RowResult::as_expected) << "unlimited";
  EXPECT_EQ(result_of("limit.locked_memory: {to: 1e9}"), RowResult::differs);
  EXPECT_EQ(result_of("mtu.ib0: {any: true}"), RowResult::as_expected);
}

TEST(Recipe, a_fact_that_a_machine_does_not_have_is_absent) {
  EXPECT_EQ(result_of("kernel.argument.nosmt: absent"), RowResult::as_expected);
  EXPECT_EQ(result_of("module.nouveau: absent"), RowResult::as_expected);
  EXPECT_EQ(result_of("module.nvidia_peermem: {any: true}"), RowResult::differs);
  EXPECT_EQ(result_of("module.nvidia: {min_version: 550}"), RowResult::differs);
}

TEST(Recipe, a_fact_that_could_not_be_read_is_missing_with_its_reason) {
  FactSet set = machine();
  set.missing["pci.acs_bridges"] = "CAP_SYS_ADMIN is missing";
  set.missing["module.*"] = "no sysfs";
  const auto all = compared_with("  pci.acs_bridges: 0\n  module.nouveau: absent\n  firmware.bios: x\n", set);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].result, RowResult::missing);
  EXPECT_EQ(all[0].reason, "CAP_SYS_ADMIN is missing");
  EXPECT_EQ(all[1].reason, "no sysfs");
  EXPECT_EQ(all[2].result, RowResult::missing);
}

TEST(Recipe, a_star_selects_every_fact) {
  const auto all = compared_with("  gpu.*.vbios: 96.00.89.00.01\n");
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].key, "gpu.0.vbios");
  EXPECT_EQ(all[0].result, RowResult::differs);
  EXPECT_EQ(all[1].result, RowResult::as_expected);
  EXPECT_EQ(compared_with("  nic.*.firmware: 28.39\n").front().result, RowResult::missing);
}

TEST(Recipe, an_unknown_fact_is_a_problem_with_its_line) {
  const std::string text = problem_of("facts:\n  kernel.release: 6\n  driver.nvida: 5\n  sysctl: 3\n");
  EXPECT_NE(text.find("recipe.yaml:3: `driver.nvida`: no such fact exists; did you mean `driver.nvidia`?"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("recipe.yaml:4: `sysctl`"), std::string::npos) << text;
}

TEST(Recipe, malformed_expectations_are_problems) {
  EXPECT_NE(problem_of("facts:\n  mtu.ib0: {form: 3}\n").find("unknown key `form`"), std::string::npos);
  EXPECT_NE(problem_of("facts:\n  mtu.ib0: {from: 3, to: 1}\n").find("greater"), std::string::npos);
  EXPECT_NE(problem_of("facts:\n  mtu.ib0: {from: 3, any: true}\n").find("expected one of"),
            std::string::npos);
  EXPECT_NE(problem_of("facts:\n  mtu.ib0: []\n").find("empty"), std::string::npos);
  EXPECT_NE(problem_of("facts:\n  mtu.ib0:\n").find("expected a value"), std::string::npos);
  EXPECT_NE(problem_of("").find("`facts` is missing"), std::string::npos);
  EXPECT_NE(problem_of("fact:\n  mtu.ib0: 3\n").find("unknown key `fact`"), std::string::npos);
  EXPECT_NE(problem_of(std::string("\x00\xff", 2)), "");
}

TEST(Recipe, too_many_rows_are_refused) {
  std::string text = "facts:\n";
  for (std::size_t i = 0; i <= Recipe::kMaxRows; ++i)
    text += "  sysctl.a" + std::to_string(i) + ": 1\n";
  EXPECT_NE(problem_of(text).find("at most 1000"), std::string::npos);
}

TEST(Versions, are_compared_part_by_part) {
  EXPECT_TRUE(compare_versions("6.8.0-51-generic", "6.8.0-100-generic") < 0);
  EXPECT_TRUE(compare_versions("550.54", "550.54.15") < 0);
  EXPECT_TRUE(compare_versions("28.39.1002", "28.039.1002") == 0);
  EXPECT_TRUE(compare_versions("1.10", "1.9") > 0);
  EXPECT_TRUE(compare_versions("1.0rc1", "1.0.1") < 0) << "a number is newer than a word";
  EXPECT_TRUE(compare_versions("99999999999999999999", "9999999999") > 0);
  EXPECT_TRUE(compare_versions("", "") == 0);
}

TEST(Expected, is_described_in_words) {
  EXPECT_EQ(describe({.one_of = {"a"}, .from = {}, .to = {}, .min_version = {}}), "a");
  EXPECT_EQ(describe({.one_of = {"a", "b"}, .from = {}, .to = {}, .min_version = {}}), "one of a, b");
  EXPECT_EQ(describe({.one_of = {}, .from = 1500, .to = 9000, .min_version = {}}), "1500 to 9000");
  EXPECT_EQ(describe({.one_of = {}, .from = 0.5, .to = {}, .min_version = {}}), "0.5 or more");
  EXPECT_EQ(describe({.one_of = {}, .from = {}, .to = {}, .min_version = "5.1"}), "version 5.1 or newer");
}

}  // namespace
}  // namespace autopilot::drift
