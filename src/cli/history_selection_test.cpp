// SPDX-License-Identifier: Apache-2.0
#include "cli/history_selection.hpp"

#include <gtest/gtest.h>

namespace autopilot::cli::history_selection_test {
namespace {

std::size_t faults_of(const HistorySelection& selection) {
  std::size_t faults = 0;
  for (const learning::HistoryRecord& record : selection.shown())
    faults += std::holds_alternative<learning::Fault>(record) ? 1 : 0;
  return faults;
}

TEST(HistorySelection, jobs_and_passed_validations_do_not_hide_a_fault) {
  HistorySelection selection(100, false);
  learning::Validation validation;
  validation.verdict = learning::Verdict::passed;
  for (int i = 0; i < 300; ++i) {
    selection.offer(learning::NodeJob{});
    selection.offer(validation);
  }
  selection.offer(learning::Fault{});
  validation.verdict = learning::Verdict::failed;
  selection.offer(validation);
  EXPECT_EQ(faults_of(selection), 1U);
  EXPECT_EQ(selection.shown().size(), 2 * HistorySelection::kNewest + 2);
  EXPECT_EQ(selection.left_out(),
            "Left out: 295 older jobs, 295 older passed validations (show them with: --type job --type "
            "validation)");
}

TEST(HistorySelection, a_named_type_is_shown_up_to_the_limit) {
  HistorySelection selection(100, true);
  for (int i = 0; i < 130; ++i)
    selection.offer(learning::NodeJob{});
  EXPECT_EQ(selection.shown().size(), 100U);
  EXPECT_EQ(selection.left_out(), "Left out: 30 records beyond the limit (show them with: --limit 130)");
}

TEST(HistorySelection, a_short_history_is_shown_as_a_whole) {
  HistorySelection selection(100, false);
  selection.offer(learning::Versions{});
  selection.offer(learning::Repair{});
  selection.offer(learning::Label{});
  EXPECT_EQ(selection.shown().size(), 3U);
  EXPECT_EQ(selection.left_out(), "");
}

TEST(HistorySelection, the_limit_holds_for_faults_as_well) {
  HistorySelection selection(2, false);
  for (int i = 0; i < 5; ++i)
    selection.offer(learning::Fault{});
  EXPECT_EQ(selection.shown().size(), 2U);
  EXPECT_EQ(selection.left_out(), "Left out: 3 records beyond the limit (show them with: --limit 5)");
}

}  // namespace
}  // namespace autopilot::cli::history_selection_test
