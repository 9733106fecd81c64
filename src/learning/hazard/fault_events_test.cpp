// SPDX-License-Identifier: Apache-2.0
#include "learning/hazard/fault_events.hpp"

#include <gtest/gtest.h>

namespace autopilot::learning {
namespace {

FaultEvent trace_event(double day, bool is_begin, std::string kind = "GPU", std::string node = "a") {
  return {std::move(node), day, is_begin, "Hardware Failure", std::move(kind), "x"};
}

TEST(FaultEvents, a_begin_and_its_end_are_one_fault) {
  const TraceFaults trace =
      pair_events({trace_event(1, true), trace_event(2, true, "Fan"), trace_event(3, false),
                   trace_event(4, true, "GPU", "b"), trace_event(5, false, "Fan")});
  ASSERT_EQ(trace.faults.size(), 3U);
  EXPECT_EQ(trace.faults[0].end_day, 3);
  EXPECT_EQ(trace.faults[1].end_day, 5);
  EXPECT_FALSE(trace.faults[2].end_day);
  EXPECT_EQ(trace.problems.open, 1U);
  EXPECT_EQ(trace.end_day, 5);
  EXPECT_TRUE(trace.problems.examples.empty());
}

TEST(FaultEvents, a_fault_may_end_on_the_day_of_its_begin) {
  const TraceFaults trace = pair_events({trace_event(1, true), trace_event(1, false)});
  ASSERT_EQ(trace.faults.size(), 1U);
  EXPECT_EQ(trace.faults[0].end_day, 1);
}

TEST(FaultEvents, what_does_not_fit_together_is_counted_and_left_out) {
  FaultEvent strange = trace_event(6, true, "GPU", "c");
  strange.level = "Cosmic Failure";
  const TraceFaults trace =
      pair_events({trace_event(1, false), trace_event(3, true), trace_event(2, true, "Fan"),
                   trace_event(4, true), trace_event(5, false), strange});
  EXPECT_EQ(trace.problems.ends_without_begin, 1U);
  EXPECT_EQ(trace.problems.repeated_begins, 1U);
  EXPECT_EQ(trace.problems.out_of_order, 1U);
  EXPECT_EQ(trace.problems.unknown_levels, 1U);
  EXPECT_EQ(trace.problems.open, 2U);
  ASSERT_EQ(trace.faults.size(), 3U);
  EXPECT_EQ(trace.faults[1].begin_day, 3);
  EXPECT_EQ(trace.faults[2].kind, FaultClass::unknown);
  ASSERT_EQ(trace.problems.examples.size(), 3U);
  EXPECT_EQ(trace.problems.examples[0],
            "node a, day 1.000000, GPU (x): ends without a begin before it; left out");
}

TEST(FaultEvents, an_end_before_its_begin_is_not_used) {
  const TraceFaults trace = pair_events({trace_event(5, true), trace_event(4, false)});
  EXPECT_EQ(trace.problems.ends_without_begin, 1U);
  EXPECT_EQ(trace.problems.open, 1U);
}

TEST(FaultEvents, examples_have_a_limit) {
  std::vector<FaultEvent> events;
  for (int i = 0; i < 100; ++i)
    events.push_back(trace_event(i, false));
  const TraceFaults trace = pair_events(events);
  EXPECT_EQ(trace.problems.ends_without_begin, 100U);
  EXPECT_EQ(trace.problems.examples.size(), TraceProblems::kMostExamples);
}

TEST(FaultEvents, classes_follow_level_and_kind) {
  EXPECT_EQ(class_of(trace_event(0, true, "GPU")), FaultClass::hardware);
  EXPECT_EQ(class_of(trace_event(0, true, "NIC")), FaultClass::network);
  EXPECT_EQ(class_of(trace_event(0, true, "Parameter Plane Cable")), FaultClass::network);
  EXPECT_EQ(class_of({"a", 0, true, "Software Failure", "File System", ""}), FaultClass::software);
  EXPECT_EQ(class_of({"a", 0, true, "Other Failure", "Stress Test Failure", ""}), FaultClass::unknown);
}

}  // namespace
}  // namespace autopilot::learning
