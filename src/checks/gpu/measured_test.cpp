// SPDX-License-Identifier: Apache-2.0
#include "checks/gpu/measured.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "core/attribute_text.hpp"

namespace autopilot::checks {
namespace {

using namespace std::chrono_literals;

std::string evidence(const Finding& finding, std::string_view name) {
  const Value* value = find_attribute(finding.evidence, name);
  return value == nullptr ? "" : to_string(*value);
}

class MeasuredTest : public ::testing::Test {
 protected:
  void says(const std::string& name, int gpu, Value value, Attributes attributes = {}) {
    Observation said;
    said.name = name;
    said.subject = {SubjectKind::gpu, "0000:" + std::to_string(10 + gpu) + ":00.0", gpu, "", ""};
    said.value = std::move(value);
    said.unit = "gigabytes_per_second";
    said.source = "probe";
    said.attributes = std::move(attributes);
    said.attributes.emplace_back("testedAt", "2026-11-25T10:00:00Z");
    round_.push_back(std::move(said));
  }
  const JudgeInput& input() {
    history_.add(round_, 10min);
    return input_;
  }

 private:
  Observations round_;
  History history_;
  Expectation expectation_;
  JudgeInput input_{Instant{}, history_, catalog::builtin(), expectation_};
};

TEST_F(MeasuredTest, a_wrong_result_is_told_with_its_place) {
  says("pcie_bandwidth.wrong", 0, std::int64_t{0});
  says("pcie_bandwidth.wrong", 1, std::int64_t{3},
       {{"where", "byte 4096 of a copy"}, {"detail", "bits 0x4"}});
  Findings findings;
  add_wrong(input(), "pcie_bandwidth.wrong", "pcie_data_wrong", "got wrong words over its link", findings);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].message,
            "GPU 1 (0000:11:00.0) got wrong words over its link: 3 (byte 4096 of a copy: bits 0x4)");
  EXPECT_EQ(findings[0].health, Health::degraded);
  EXPECT_EQ(findings[0].action, Action::run_diagnostics);
  EXPECT_EQ(evidence(findings[0], "where"), "byte 4096 of a copy");
  EXPECT_EQ(evidence(findings[0], "value"), "3");
  EXPECT_EQ(evidence(findings[0], "testedAt"), "2026-11-25T10:00:00Z");
}

TEST_F(MeasuredTest, a_test_that_tells_no_place_is_heard_too) {
  says("pcie_bandwidth.wrong", 1, std::int64_t{1});
  Findings findings;
  add_wrong(input(), "pcie_bandwidth.wrong", "pcie_data_wrong", "got wrong words over its link", findings);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].message, "GPU 1 (0000:11:00.0) got wrong words over its link: 1");
}

TEST_F(MeasuredTest, two_alone_are_not_compared) {
  says("pcie_bandwidth.host_to_device", 0, 55.0);
  says("pcie_bandwidth.host_to_device", 1, 5.0);
  const auto all = measured(input(), "pcie_bandwidth.host_to_device");
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(median_of_others(all[1], all, [](const Measured&) { return true; }), std::nullopt);
}

TEST_F(MeasuredTest, the_median_is_of_those_that_are_alike) {
  for (int gpu = 0; gpu < 4; ++gpu)
    says("pcie_bandwidth.host_to_device", gpu, 50.0 + gpu);
  says("pcie_bandwidth.host_to_device", 4, std::string("fast"));
  const auto all = measured(input(), "pcie_bandwidth.host_to_device");
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(median_of_others(all[0], all, [](const Measured& one) { return one.value > 51; }), 53.0);
}

}  // namespace
}  // namespace autopilot::checks
