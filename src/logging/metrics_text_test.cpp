// SPDX-License-Identifier: Apache-2.0
#include "logging/metrics_text.hpp"

#include <gtest/gtest.h>
#include <limits>

namespace autopilot::logging {
namespace {

TEST(MetricsText, writes_help_and_type_once_per_family) {
  MetricsText metrics;
  metrics.family("autopilot_checks_run_total", MetricType::counter, "Rounds of looking.");
  metrics.sample({{"check", "gpu.xid"}}, 3);
  metrics.sample({{"check", "host.clock"}, {"health", "healthy"}}, 0.5);
  EXPECT_EQ(metrics.text(),
            "# HELP autopilot_checks_run_total Rounds of looking.\n"
            "# TYPE autopilot_checks_run_total counter\n"
            "autopilot_checks_run_total{check=\"gpu.xid\"} 3\n"
            "autopilot_checks_run_total{check=\"host.clock\",health=\"healthy\"} 0.5\n");
}

TEST(MetricsText, a_family_without_samples_leaves_no_trace) {
  MetricsText metrics;
  metrics.family("autopilot_findings", MetricType::gauge, "Opinions.");
  metrics.family("autopilot_simulated", MetricType::gauge, "1 on a machine that does not exist.");
  metrics.sample(1);
  EXPECT_EQ(metrics.text(),
            "# HELP autopilot_simulated 1 on a machine that does not exist.\n"
            "# TYPE autopilot_simulated gauge\n"
            "autopilot_simulated 1\n");
}

TEST(MetricsText, hostile_label_values_cannot_break_a_scrape) {
  MetricsText metrics;
  metrics.family("x", MetricType::gauge, "y");
  metrics.sample({{"mount", "/a\"b\\c\nd\xff\x01"}}, 1);
  EXPECT_NE(metrics.text().find("x{mount=\"/a\\\"b\\\\c\\nd??\"} 1\n"), std::string::npos);
}

TEST(MetricsText, numbers_that_are_none_are_spelled_out) {
  MetricsText metrics;
  metrics.family("x", MetricType::gauge, "y");
  metrics.sample(std::numeric_limits<double>::quiet_NaN());
  metrics.sample(-std::numeric_limits<double>::infinity());
  EXPECT_NE(metrics.text().find("x NaN\nx -Inf\n"), std::string::npos);
}

}  // namespace
}  // namespace autopilot::logging
