// SPDX-License-Identifier: Apache-2.0
#include "postflight/comparison.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

#include "learning/baseline/kind.hpp"
#include "learning/record_check.hpp"
#include "tests/support/diagnostics/gpu_fixture.hpp"

namespace autopilot::postflight {
namespace {

using diagnostics::testing::gpu;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr WallTime kCompared{std::chrono::hours(500000)};

CheckResult compared_result(std::string check, Findings findings = {}) {
  CheckResult result;
  result.check = std::move(check);
  result.health = Health::healthy;
  for (const Finding& finding : findings)
    result.health = worst(result.health, finding.health);
  result.completed = kCompared;
  result.findings = std::move(findings);
  return result;
}

Finding finding_of(const Subject& subject, Health health) {
  Finding finding;
  finding.subject = subject;
  finding.health = health;
  finding.reason = "row_remap_failed";
  finding.message = "a row could not be remapped";
  return finding;
}

CheckResult rated(double rate, const Subject& subject) {
  CheckResult result = compared_result("gpu.pcie_bandwidth");
  Observation one;
  one.name = "pcie_bandwidth.host_to_device";
  one.subject = subject;
  one.unit = "gigabytes_per_second";
  one.value = Value(rate);
  result.observations = Observations{one};
  return result;
}

Observation text_about(const Subject& subject, std::string_view name, const std::string& text) {
  Observation one;
  one.name = name;
  one.subject = subject;
  one.value = Value(text);
  return one;
}

NodeSnapshot snapshot_of_h100(const Subject& subject) {
  CheckResult driver = compared_result("gpu.driver");
  driver.observations = Observations{text_about(host_subject(), "driver.version", "570.86.15"),
                                     text_about(subject, "gpu.model", "NVIDIA H100 80GB HBM3")};
  NodeSnapshot snapshot;
  snapshot.results.push_back(std::move(driver));
  return snapshot;
}

const std::vector<Subject> kHeld{gpu(0), gpu(1)};

TEST(ComparisonOfChecks, a_check_that_became_worse_is_named_with_its_finding) {
  const CheckResults before{compared_result("gpu.row_remap"), compared_result("gpu.ecc")};
  const std::vector<CheckResult> after{compared_result("gpu.row_remap", {finding_of(gpu(1), Health::failed)}),
                                       compared_result("gpu.ecc")};
  const Comparison comparison = compare(before, after, kHeld);
  EXPECT_EQ(comparison.compared, 2);
  EXPECT_EQ(comparison.worse, 1);
  EXPECT_THAT(comparison.checks, ElementsAre("gpu.row_remap"));
  EXPECT_EQ(
      to_sentence(comparison),
      "1 of 2 checks not as good as before the job: gpu.row_remap: healthy before the job, failed after "
      "it; GPU 1 (0000:01:00.0): a row could not be remapped");
}

TEST(ComparisonOfChecks, a_fault_that_was_there_before_is_not_worse) {
  const CheckResult ill = compared_result("gpu.row_remap", {finding_of(gpu(1), Health::degraded)});
  const Comparison comparison = compare({ill}, std::vector{ill}, kHeld);
  EXPECT_EQ(comparison.worse, 0);
  EXPECT_EQ(to_sentence(comparison), "all of 1 check are as good as before the job");
}

TEST(ComparisonOfChecks, gpus_of_other_jobs_do_not_count) {
  const std::vector<CheckResult> after{
      compared_result("gpu.row_remap", {finding_of(gpu(5), Health::failed)})};
  EXPECT_EQ(compare({compared_result("gpu.row_remap")}, after, kHeld).worse, 0);
  const Subject link{SubjectKind::nvlink, gpu(1).key + "/3", {}, {}, {}};
  EXPECT_TRUE(concerns(link, kHeld));
  EXPECT_TRUE(concerns(host_subject(), kHeld));
  EXPECT_FALSE(concerns(gpu(5), kHeld));
}

TEST(ComparisonOfChecks, unknown_is_not_compared_but_a_lost_result_is_named) {
  CheckResult silent = compared_result("gpu.ecc");
  silent.health = Health::unknown;
  const Comparison lost = compare({compared_result("gpu.ecc")}, std::vector{silent}, kHeld);
  EXPECT_EQ(lost.compared, 0);
  EXPECT_THAT(lost.lost, ElementsAre("gpu.ecc"));
  CheckResult never;
  never.check = "gpu.ecc";
  const Comparison first = compare({never}, std::vector{compared_result("gpu.ecc")}, kHeld);
  EXPECT_EQ(first.compared, 0);
  EXPECT_THAT(first.lost, IsEmpty());
}

TEST(ComparisonOfChecks, a_rate_counts_as_worse_below_95_per_cent) {
  const Comparison slower = compare({rated(25, gpu(0))}, std::vector{rated(20, gpu(0))}, kHeld);
  EXPECT_THAT(slower.sentences,
              ElementsAre("pcie_bandwidth.host_to_device of GPU 0 (0000:00:00.0): 20 GB/s, 25 "
                          "GB/s before the job"));
  EXPECT_EQ(slower.worse, 0) << "the check judges whether the GPU passes";
  EXPECT_THAT(compare({rated(25, gpu(0))}, std::vector{rated(23.75, gpu(0))}, kHeld).sentences, IsEmpty());
  EXPECT_THAT(compare({rated(25, gpu(5))}, std::vector{rated(10, gpu(5))}, kHeld).sentences, IsEmpty());
}

TEST(ComparisonOfChecks, outcomes_name_the_card) {
  const auto outcomes =
      outcomes_of(compared_result("gpu.row_remap", {finding_of(gpu(1), Health::failed)}), kHeld);
  ASSERT_THAT(outcomes, SizeIs(1));
  EXPECT_EQ(outcomes[0].gpu, "GPU-1");
  EXPECT_EQ(outcomes[0].health, Health::failed);
  EXPECT_THAT(outcomes[0].text, HasSubstr("GPU 1"));
  const auto healthy = outcomes_of(compared_result("gpu.ecc"), kHeld);
  ASSERT_THAT(healthy, SizeIs(1));
  EXPECT_EQ(healthy[0].health, Health::healthy);
}

TEST(ComparisonOfChecks, injected_findings_change_nothing) {
  Finding injected = finding_of(gpu(1), Health::failed);
  injected.injected = true;
  CheckResult result = compared_result("gpu.xid");
  result.findings = {injected};
  EXPECT_EQ(compare({compared_result("gpu.xid")}, std::vector{result}, kHeld).worse, 0);
}

TEST(ComparisonOfChecks, rates_become_measurements_of_the_card) {
  const NodeSnapshot snapshot = snapshot_of_h100(gpu(1));
  const Observations rates = rated(25, gpu(1)).observations.all();
  const auto measured = measurements_of("gpu.pcie_bandwidth", rates, snapshot, "n0", "op-1", kCompared);
  ASSERT_THAT(measured, SizeIs(1));
  EXPECT_TRUE(learning::check(measured[0])) << learning::check(measured[0]).error().what;
  EXPECT_EQ(measured[0].kind, "gpu=NVIDIA H100 80GB HBM3;driver=570");
  EXPECT_TRUE(learning::parse_kind(measured[0].kind));
  EXPECT_EQ(measured[0].place.gpu, "GPU-1");
  EXPECT_EQ(measured[0].place.node, "n0");
  EXPECT_EQ(measured[0].metric, "pcie_bandwidth.host_to_device");
  EXPECT_THAT(measured[0].values, ElementsAre(25));
}

TEST(ComparisonOfChecks, a_gpu_of_unknown_kind_has_no_measurement) {
  const NodeSnapshot snapshot = snapshot_of_h100(gpu(0));
  const Observations rates = rated(25, gpu(1)).observations.all();
  EXPECT_THAT(measurements_of("gpu.pcie_bandwidth", rates, snapshot, "n0", "op-1", kCompared), IsEmpty());
}

}  // namespace
}  // namespace autopilot::postflight
