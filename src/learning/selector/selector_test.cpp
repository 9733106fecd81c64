// SPDX-License-Identifier: Apache-2.0
#include "learning/selector/selector.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace autopilot::learning {
namespace {

SelectionInput job_input(double hazard) {
  return {.hazards = std::vector<double>(16, hazard),
          .risks = {{"gpu", 0.6, 2000}, {"nic", 0.4, 2000}},
          .diagnostics = {{"quick", 2, 0, true},
                          {"gpu_deep", 15, 0.0001, false},
                          {"net_pairs", 5, 0.0001, false}},
          .recall = {{"quick", "gpu", 0.2, 0, 0},
                     {"gpu_deep", "gpu", 0.9, 0, 0},
                     {"net_pairs", "nic", 0.9, 0, 0}},
          .most_minutes = {}};
}

std::vector<std::string> names(const Result<Selection>& selection) {
  std::vector<std::string> result;
  for (const Choice& choice : selection.value().choices)
    result.push_back(choice.check);
  return result;
}

TEST(Selections, healthy_nodes_get_the_quick_set_only) {
  EXPECT_EQ(names(select_diagnostics(job_input(1e-4), FullReason::none)), std::vector<std::string>{"quick"});
}

TEST(Selections, a_higher_hazard_adds_what_saves_most_for_each_minute) {
  EXPECT_EQ(names(select_diagnostics(job_input(0.002), FullReason::none)),
            (std::vector<std::string>{"quick", "net_pairs"}));
  EXPECT_EQ(names(select_diagnostics(job_input(0.02), FullReason::none)),
            (std::vector<std::string>{"quick", "net_pairs", "gpu_deep"}));
}

TEST(Selections, after_a_repair_all_diagnostics_run) {
  const auto selection = select_diagnostics(job_input(0), FullReason::repair);
  EXPECT_EQ(names(selection).size(), 3U);
  EXPECT_TRUE(std::ranges::all_of(selection->choices, &Choice::is_floor));
}

TEST(Selections, the_limit_of_time_keeps_the_floor) {
  SelectionInput input = job_input(0.02);
  input.most_minutes = 7;
  EXPECT_EQ(names(select_diagnostics(input, FullReason::none)),
            (std::vector<std::string>{"quick", "net_pairs"}));
  input.most_minutes = 1;
  EXPECT_EQ(names(select_diagnostics(input, FullReason::none)), std::vector<std::string>{"quick"});
  EXPECT_EQ(select_diagnostics(input, FullReason::repair)->choices.size(), 3U);
}

TEST(Selections, what_is_left_out_has_its_value) {
  SelectionInput input = job_input(0.02);
  input.most_minutes = 7;
  const auto selection = select_diagnostics(input, FullReason::none);
  ASSERT_EQ(selection->left_out.size(), 1U);
  EXPECT_EQ(selection->left_out.front().check, "gpu_deep");
  EXPECT_GT(selection->left_out.front().value, 0);
  const auto healthy = select_diagnostics(job_input(1e-4), FullReason::none);
  ASSERT_EQ(healthy->left_out.size(), 2U);
  EXPECT_LT(healthy->left_out.front().value, 0);
}

TEST(Selections, a_diagnostic_that_finds_what_is_already_found_is_not_worth_its_time) {
  SelectionInput input = job_input(0.002);
  input.diagnostics.push_back({"net_pairs_again", 5, 0.0001, false});
  input.recall.push_back({"net_pairs_again", "nic", 0.9, 0, 0});
  EXPECT_EQ(names(select_diagnostics(input, FullReason::none)),
            (std::vector<std::string>{"quick", "net_pairs"}));
}

TEST(Selections, escaped_faults_are_those_not_found) {
  const auto selection = select_diagnostics(job_input(0.02), FullReason::none);
  const double any = 16 * (1 - std::exp(-0.02));
  EXPECT_NEAR(selection->escaped, any * (0.6 * 0.8 * 0.1 + 0.4 * 0.1), 1e-9);
}

TEST(Selections, the_order_of_diagnostics_has_no_influence) {
  SelectionInput input = job_input(0.02);
  const auto first = names(select_diagnostics(input, FullReason::none));
  std::ranges::reverse(input.diagnostics);
  EXPECT_EQ(names(select_diagnostics(input, FullReason::none)), first);
}

TEST(Selections, invalid_input_is_refused) {
  SelectionInput input = job_input(std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(select_diagnostics(input, FullReason::none).error().code, Errc::malformed);
  input = job_input(0.1);
  input.diagnostics[1].minutes = 0;
  EXPECT_EQ(select_diagnostics(input, FullReason::none).error().code, Errc::malformed);
  input = job_input(0.1);
  input.diagnostics[1].check = "quick";
  EXPECT_EQ(select_diagnostics(input, FullReason::none).error().code, Errc::malformed);
  input.diagnostics.resize(kMostDiagnostics + 1);
  EXPECT_EQ(select_diagnostics(input, FullReason::none).error().code, Errc::exhausted);
}

TEST(FullSets, a_full_set_runs_after_repairs_driver_changes_and_thirty_days) {
  const Duration recent = std::chrono::days(1);
  EXPECT_EQ(full_reason({recent, false, false}), FullReason::none);
  EXPECT_EQ(full_reason({recent, true, false}), FullReason::repair);
  EXPECT_EQ(full_reason({recent, false, true}), FullReason::driver_change);
  EXPECT_EQ(full_reason({std::chrono::days(31), false, false}), FullReason::no_recent_full);
  EXPECT_EQ(full_reason({}), FullReason::no_recent_full);
}

}  // namespace
}  // namespace autopilot::learning
