// SPDX-License-Identifier: Apache-2.0
#include "controller/figures.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <utility>

namespace autopilot::controller {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string render(const ControllerFigures& figures) {
  logging::MetricsText metrics;
  add_metrics(metrics, figures);
  return std::move(metrics).take();
}

TEST(Figures, say_when_certificates_end_and_what_agents_got) {
  ControllerFigures figures;
  figures.leads = true;
  figures.serving_until = WallTime{seconds{1'800'000'001}};
  figures.issued = IssuanceCounts{};
  figures.issued->at(static_cast<std::size_t>(Issuance::forbidden)) = 3;
  const std::string text = render(figures);
  EXPECT_THAT(text, AllOf(HasSubstr("autopilot_controller_leader 1\n"),
                          HasSubstr("certificate_not_after_seconds{certificate=\"serving\"} 1800000001\n"),
                          Not(HasSubstr("certificate=\"authority\"")),
                          HasSubstr("certificate_requests_total{outcome=\"forbidden\"} 3\n")));
  figures.issued.reset();
  EXPECT_THAT(render(figures), Not(HasSubstr("certificate_requests_total")));
}

TEST(Figures, say_what_became_of_pods_and_how_long_it_took) {
  ControllerFigures figures;
  figures.preflight.by_outcome.front() = 7;
  figures.preflight.at_most.front() = 6;
  figures.preflight.total = std::chrono::milliseconds{1500};
  EXPECT_THAT(render(figures),
              AllOf(HasSubstr("reviews_total{webhook=\"preflight\",outcome=\"patched\"} 7\n"),
                    HasSubstr("reviews_within_total{webhook=\"preflight\",seconds=\"0.0001\"} 6\n"),
                    HasSubstr("review_seconds_total{webhook=\"preflight\"} 1.5\n"),
                    HasSubstr("reviews_total{webhook=\"observation\",outcome=\"patched\"} 0\n")));
}

}  // namespace
}  // namespace autopilot::controller
