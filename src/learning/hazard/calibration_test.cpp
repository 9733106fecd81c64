// SPDX-License-Identifier: Apache-2.0
#include "learning/hazard/calibration.hpp"

#include <gtest/gtest.h>

#include "tests/support/learning/simulated_fleet.hpp"

namespace autopilot::learning {
namespace {

const HazardModel kCalibrationTruth{0.004, {{1, 0.2}, {20, 0.2}}};

TEST(HazardCalibration, the_model_that_made_the_faults_is_calibrated_in_every_tenth) {
  const FleetHistory fleet =
      simulated_fleet(kCalibrationTruth, {.nodes = 1000, .days = 400, .repair_days = 0.5, .seed = 11});
  const Calibration result = calibrate(fleet, kCalibrationTruth, 7, 100, 400, 200, 1);
  EXPECT_NEAR(result.ratio.value, 1, 0.07);
  EXPECT_LT(result.ratio.low, 1);
  EXPECT_GT(result.ratio.high, 1);
  ASSERT_EQ(result.tenths.size(), 10U);
  for (const CalibrationGroup& group : result.tenths)
    EXPECT_NEAR(group.observed, group.expected, 4 * std::sqrt(group.expected));
}

TEST(HazardCalibration, tenths_are_of_equal_size_and_add_up) {
  const FleetHistory fleet = simulated_fleet(kCalibrationTruth, {});
  const Calibration result = calibrate(fleet, kCalibrationTruth, 7, 100, 400, 10, 1);
  double nodes = 0;
  double expected = 0;
  double observed = 0;
  double highest = 0;
  for (const CalibrationGroup& group : result.tenths) {
    EXPECT_NEAR(group.nodes, static_cast<double>(result.predictions) / 10, 1e-3);
    EXPECT_GE(group.lowest, highest);
    EXPECT_LE(group.lowest, group.highest);
    highest = group.highest;
    nodes += group.nodes;
    expected += group.expected;
    observed += group.observed;
  }
  EXPECT_NEAR(nodes, static_cast<double>(result.predictions), 1e-3);
  EXPECT_NEAR(expected, result.expected, 1e-3);
  EXPECT_NEAR(observed, result.observed, 1e-3);
}

TEST(HazardCalibration, a_wrong_rate_is_corrected_by_what_the_fleet_shows) {
  const FleetHistory fleet =
      simulated_fleet({0.008, {}}, {.nodes = 1000, .days = 400, .repair_days = 0.5, .seed = 2});
  const Calibration result = calibrate(fleet, {0.004, {}}, 7, 200, 400, 10, 1);
  EXPECT_NEAR(result.ratio.value, 1, 0.1);
}

TEST(HazardCalibration, nothing_observed_has_no_ratio) {
  const auto fleet = make_fleet_history({{"a", 1, 2.0, {}, false, ""}}, 10, 60);
  const Calibration result = calibrate(*fleet, kCalibrationTruth, 7, 20, 60, 10, 1);
  EXPECT_EQ(result.observed, 0);
  EXPECT_EQ(result.ratio.value, 0);
  EXPECT_GT(result.expected, 0);
}

}  // namespace
}  // namespace autopilot::learning
