// SPDX-License-Identifier: Apache-2.0
#include "cli/output/hazard_tables.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>

namespace autopilot::cli {
namespace {

using testing::HasSubstr;

learning::HazardEvaluation judged_trace() {
  learning::HazardEvaluation result;
  result.whole = {0, 200, 30, 7900};
  result.fitted = {0, 100, 20, 3950};
  result.judged = {100, 200, 10, 3950};
  result.nodes = 40;
  result.nodes_with_fault = 12;
  result.open_at_end = 1;
  result.models.push_back({"several time constants", {0.0025, {{0.05, 0.2}, {3, 0.125}}}, 1.25});
  result.models.push_back({"constant rate", {0.005, {}}, 0});
  const learning::ReturnWindow window{3, 10, 4, 3950, 39.5, {40, 20.5, 60.25}};
  learning::ReturnWindow learned = window;
  learned.days = result.learned_probation_days = 1.75;
  result.windows = {window, learned};
  result.whole_windows = result.windows;
  result.horizon_days = 28;
  result.ranking_days = 11;
  result.rankings.push_back({"hazard", {0.255, 0.1, 0.4}, 0.08, {3.2, 1.5, 4.5}, {0.61, 0.5, 0.7}});
  result.lemons = {4, 1};
  result.calibration.predictions = 100;
  result.calibration.expected = 9.5;
  result.calibration.observed = 10;
  result.calibration.ratio = {0.95, 0.7, 1.3};
  result.calibration.tenths.push_back({10, 0.01, 0.02, 0.2, 1});
  return result;
}

TEST(HazardTables, state_lift_precision_and_calibration_with_their_intervals) {
  const std::string text = render_hazard(judged_trace(), {60, 31, {}}, {});
  EXPECT_THAT(text, HasSubstr("60 events, 31 faults of 12 of 40 nodes; 1 nodes out of service"));
  EXPECT_THAT(text, HasSubstr("395.0 days"));
  EXPECT_THAT(text, HasSubstr("40.0 %  1.00 %  40.0 (20.5 to 60."));
  EXPECT_THAT(text, HasSubstr("1.8 d, learned"));
  EXPECT_THAT(text, HasSubstr("hazard  25.5 % (10.0 to 40.0)  3.20  0.610"));
  EXPECT_THAT(text, HasSubstr("1 of 4 fail within 28 days"));
  EXPECT_THAT(text, HasSubstr("0.95 (0.70 to 1.30)"));
}

TEST(HazardTables, fit_a_narrow_terminal) {
  std::istringstream lines(render_hazard(judged_trace(), {60, 31, {}}, {}));
  for (std::string line; std::getline(lines, line);)
    EXPECT_LE(line.size(), 80U) << line;
}

TEST(HazardTables, have_no_ratio_and_no_lemon_where_there_is_none) {
  learning::HazardEvaluation result = judged_trace();
  result.judged.episodes = 0;
  result.lemons = {};
  result.calibration.observed = 0;
  const std::string text = render_hazard(result, {60, 31, {}}, {});
  EXPECT_THAT(text, HasSubstr("Lemons: none is named"));
  EXPECT_THAT(text, testing::Not(HasSubstr(", ratio")));
}

TEST(HazardJson, has_the_figures_of_the_tables) {
  learning::TraceProblems problems;
  problems.ends_without_begin = 2;
  const std::string json = hazard_json(judged_trace(), {60, 31, problems});
  EXPECT_THAT(json, HasSubstr(R"("endsWithoutBegin":2)"));
  EXPECT_THAT(json, HasSubstr(R"("mtbfDays":395.0)"));
  EXPECT_THAT(json, HasSubstr(R"("lift":{"value":40.0,"low":20.5,"high":60.25})"));
  EXPECT_THAT(json, HasSubstr(R"("learned":true)"));
  EXPECT_THAT(json, HasSubstr(R"("precision":{"value":0.255,"low":0.1,"high":0.4})"));
  EXPECT_THAT(json, HasSubstr(R"("lemons":{"named":4,"withFault":1})"));
  EXPECT_EQ(std::ranges::count(json, '\n'), 1);
}

}  // namespace
}  // namespace autopilot::cli
