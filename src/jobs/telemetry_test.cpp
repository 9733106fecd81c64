// SPDX-License-Identifier: Apache-2.0
#include "jobs/telemetry.hpp"

#include <cmath>
#include <gtest/gtest.h>

namespace autopilot::jobs::telemetry_test {
namespace {

constexpr WallTime kMinuteStart{std::chrono::hours(500000)};

WallTime at(int seconds) {
  return kMinuteStart + std::chrono::seconds(seconds);
}

WindowRecord power_at(int seconds, float watts, int length = 10) {
  WindowRecord window;
  window.time = at(seconds);
  window.length = std::chrono::seconds(length);
  window.node = "n1";
  window.gpus = {0, 1};
  window.columns = {{Metric::gpu_power_w, {kMissing, watts}}};
  return window;
}

TEST(NodeTelemetry, a_minute_is_the_median_of_its_windows) {
  NodeTelemetry node;
  for (int window = 1; window <= 6; ++window)
    EXPECT_TRUE(node.add(power_at(10 * window, window == 3 ? 90.0F : 600.0F + static_cast<float>(window))));
  EXPECT_FLOAT_EQ(node.over_minute(Metric::gpu_power_w, 1, at(60)), 603.0F);
  EXPECT_EQ(node.covered(at(60)), kMinute);
}

TEST(NodeTelemetry, what_was_not_measured_is_missing_and_not_zero) {
  NodeTelemetry node;
  node.add(power_at(10, 600));
  EXPECT_TRUE(std::isnan(node.over_minute(Metric::gpu_power_w, 0, at(60))));
  EXPECT_TRUE(std::isnan(node.over_minute(Metric::gpu_tensor, 1, at(60))));
  EXPECT_TRUE(std::isnan(node.over_minute(Metric::gpu_power_w, 7, at(60))));
  EXPECT_TRUE(std::isnan(node.over_minute(Metric::gpu_power_w, 1, at(600))));
}

TEST(NodeTelemetry, counts_are_added_up) {
  NodeTelemetry node;
  for (int window = 1; window <= 6; ++window) {
    WindowRecord record = power_at(10 * window, 1);
    record.nics = {"mlx5_0"};
    record.columns = {{Metric::nic_errors, {2}}};
    node.add(record);
  }
  EXPECT_FLOAT_EQ(node.over_minute(Metric::nic_errors, node.nic_row("mlx5_0").value(), at(60)), 12);
}

TEST(NodeTelemetry, windows_of_one_second_are_averaged) {
  NodeTelemetry node;
  for (int second = 1; second <= 10; ++second)
    node.add(power_at(second, static_cast<float>(second), 1));
  EXPECT_NEAR(node.latest(Metric::gpu_power_w, 1, at(10)), 5.5F, 1e-4);
}

TEST(NodeTelemetry, an_old_window_is_refused_and_does_not_replace_a_new_one) {
  NodeTelemetry node;
  node.add(power_at(600, 500));
  EXPECT_FALSE(node.add(power_at(420, 100)));
  EXPECT_TRUE(node.add(power_at(590, 400)));
  EXPECT_FLOAT_EQ(node.latest(Metric::gpu_power_w, 1, at(600)), 500);
  EXPECT_TRUE(std::isnan(node.latest(Metric::gpu_power_w, 1, at(700))));
}

TEST(NodeTelemetry, values_that_are_not_finite_are_left_out) {
  NodeTelemetry node;
  node.add(power_at(10, std::numeric_limits<float>::infinity()));
  EXPECT_TRUE(std::isnan(node.over_minute(Metric::gpu_power_w, 1, at(60))));
}

TEST(NodeTelemetry, rows_have_a_limit_and_processes_of_an_ended_job_free_theirs) {
  NodeTelemetry node;
  WindowRecord window = power_at(10, 1);
  window.columns = {{Metric::process_cpu, {}}};
  for (int rank = 0; rank < 100; ++rank) {
    window.processes.push_back({"a", rank});
    window.columns[0].values.push_back(static_cast<float>(rank));
  }
  node.add(window);
  EXPECT_TRUE(node.process_row("a", 63).has_value());
  EXPECT_FALSE(node.process_row("a", 64).has_value());
  node.forget_job("a");
  window.processes = {{"b", 0}};
  window.columns[0].values = {7};
  window.time = at(20);
  node.add(window);
  EXPECT_FLOAT_EQ(node.latest(Metric::process_cpu, node.process_row("b", 0).value(), at(20)), 7);
}

}  // namespace
}  // namespace autopilot::jobs::telemetry_test
