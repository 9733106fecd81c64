// SPDX-License-Identifier: Apache-2.0
#include "drift/siblings.hpp"

#include <algorithm>
#include <gtest/gtest.h>

namespace autopilot::drift {
namespace {

FactSet node(std::string name, const std::string& release) {
  FactSet set{.node = std::move(name), .time = {}, .facts = {}, .missing = {}};
  if (!release.empty()) set.facts["kernel.release"] = {release, ""};
  return set;
}

TEST(Siblings, the_node_that_differs_from_the_majority_is_named) {
  const std::vector<FactSet> nodes{node("c", "6.8"), node("a", "6.8"), node("b", "6.5")};
  const SiblingReport report = compare_siblings(nodes);
  ASSERT_EQ(report.differences.size(), 1U);
  const SiblingDifference& found = report.differences.front();
  EXPECT_TRUE(found.has_majority);
  EXPECT_EQ(found.values[0].value, "6.8");
  EXPECT_EQ(found.values[0].nodes, (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(found.values[1].nodes, std::vector<std::string>{"b"});
}

TEST(Siblings, a_tie_has_no_majority) {
  const std::vector<FactSet> nodes{node("a", "1"), node("b", "1"), node("c", "2"), node("d", "2")};
  EXPECT_FALSE(compare_siblings(nodes).differences.at(0).has_majority);
  const std::vector<FactSet> all_different{node("a", "1"), node("b", "2"), node("c", "3")};
  EXPECT_FALSE(compare_siblings(all_different).differences.at(0).has_majority);
  const std::vector<FactSet> most{node("a", "1"), node("b", "1"), node("c", "2"), node("d", "3")};
  EXPECT_FALSE(compare_siblings(most).differences.at(0).has_majority) << "half is not a majority";
}

TEST(Siblings, two_nodes_only_differ) {
  const std::vector<FactSet> nodes{node("a", "1"), node("b", "2")};
  const auto report = compare_siblings(nodes);
  ASSERT_EQ(report.differences.size(), 1U);
  EXPECT_FALSE(report.differences.front().has_majority);
}

TEST(Siblings, a_node_that_does_not_know_a_fact_has_no_vote) {
  const std::vector<FactSet> nodes{node("a", "1"), node("b", "1"), node("c", "2"), node("d", "")};
  const auto report = compare_siblings(nodes);
  EXPECT_TRUE(report.differences.at(0).has_majority);
  EXPECT_EQ(report.unknown.at(0).nodes, std::vector<std::string>{"d"});
  EXPECT_EQ(report.compared, 0U);
}

TEST(Siblings, a_module_that_one_node_lacks_is_a_difference) {
  std::vector<FactSet> nodes{node("a", "1"), node("b", "1"), node("c", "1")};
  nodes[0].facts["module.nvidia_peermem"] = {"loaded", ""};
  nodes[1].facts["module.nvidia_peermem"] = {"loaded", ""};
  const auto report = compare_siblings(nodes);
  ASSERT_EQ(report.differences.size(), 1U);
  EXPECT_EQ(report.differences[0].values[1].value, kAbsent);
  EXPECT_EQ(report.compared, 2U);
}

TEST(Siblings, the_order_of_nodes_does_not_matter) {
  std::vector<FactSet> nodes{node("a", "1"), node("b", "2"), node("c", "2"), node("d", "3")};
  const auto first = compare_siblings(nodes);
  std::ranges::reverse(nodes);
  const auto second = compare_siblings(nodes);
  ASSERT_EQ(first.differences.size(), second.differences.size());
  for (std::size_t i = 0; i < first.differences[0].values.size(); ++i) {
    EXPECT_EQ(first.differences[0].values[i].value, second.differences[0].values[i].value);
    EXPECT_EQ(first.differences[0].values[i].nodes, second.differences[0].values[i].nodes);
  }
}

TEST(Siblings, equal_nodes_do_not_differ) {
  const std::vector<FactSet> nodes{node("a", "1"), node("b", "1"), node("c", "1")};
  EXPECT_TRUE(compare_siblings(nodes).differences.empty());
  EXPECT_EQ(compare_siblings({}).compared, 0U);
}

}  // namespace
}  // namespace autopilot::drift
