// SPDX-License-Identifier: Apache-2.0
#include "controller/node_marks.hpp"

#include <gtest/gtest.h>

namespace autopilot::controller {
namespace {

using namespace std::chrono_literals;

const WallTime kNow{1'800'000'000'123ms};

TEST(NodeMarks, are_read_as_they_are_written) {
  const Hold hold{.plan = "n1-0123456789", .since = kNow};
  EXPECT_EQ(parse_hold(format_hold(hold)), hold);
  EXPECT_EQ(format_hold(hold), R"({"plan":"n1-0123456789","since":"2027-01-15T08:00:00.123Z"})");
  const Probation probation{.plan = "p", .until = kNow + 72h, .next = kNow + 24h};
  EXPECT_EQ(parse_probation(format_probation(probation)), probation);
}

TEST(NodeMarks, what_says_nothing_is_of_no_plan) {
  for (const char* text : {"", "true", "{", "[]", R"({"plan": 7})", "\xff"}) {
    EXPECT_EQ(parse_hold(text), Hold{}) << text;
    EXPECT_EQ(parse_probation(text), Probation{}) << text;
  }
}

TEST(NodeMarks, have_the_prefix_of_the_installation) {
  const NodeMarks marks = node_marks("example.org");
  EXPECT_EQ(marks.held, "example.org/held");
  kube::Node node;
  EXPECT_FALSE(annotation(node, marks.held));
  node.meta.annotations["example.org/held"] = "x";
  EXPECT_EQ(annotation(node, marks.held), "x");
  EXPECT_TRUE(is_probation_taint({"example.org/probation", "", "PreferNoSchedule", {}}, marks));
  EXPECT_FALSE(is_probation_taint({"example.org/probation", "", "NoSchedule", {}}, marks))
      << "somebody else's";
}

}  // namespace
}  // namespace autopilot::controller
