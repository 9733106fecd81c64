// SPDX-License-Identifier: Apache-2.0
#include "agent/jobs/validation_records.hpp"

#include <gtest/gtest.h>
#include <string>

#include "api/job_records.hpp"

namespace autopilot::agent::validation_records_test {
namespace {

learning::ValidationResult result_of(learning::Verdict verdict) {
  learning::ValidationResult result;
  result.record.job = "ml/llama";
  result.record.place.node = "node-7";
  result.record.end = WallTime{std::chrono::hours(500000)};
  result.record.verdict = verdict;
  result.summary = "31 checks ran";
  return result;
}

TEST(ValidationRecords, a_failed_validation_states_what_failed_and_what_became_worse) {
  auto result = result_of(learning::Verdict::failed);
  result.worse = {"network.rdma: healthy before the job, degraded after it; mlx5_0 port 1: slow"};
  result.record.checks = {
      {.check = "host.kernel", .gpu = {}, .health = Health::degraded, .reason = "old_kernel", .text = "old"},
      {.check = "network.rdma", .gpu = {}, .health = Health::degraded, .reason = "slow", .text = "mlx5_0"},
      {.check = "gpu.ecc", .gpu = "123", .health = Health::failed, .reason = "ecc", .text = "GPU 0: ecc"},
      {.check = "gpu.xid", .gpu = {}, .health = Health::healthy, .reason = {}, .text = {}}};
  const jobs::ValidationRecord record = validation_record_of(result);
  ASSERT_EQ(record.failed.size(), 2U);
  EXPECT_EQ(record.failed[0].check, "gpu.ecc");
  EXPECT_EQ(record.failed[0].gpu, "123");
  EXPECT_EQ(record.failed[1].check, "network.rdma");
  EXPECT_EQ(record.verdict, jobs::ValidationVerdict::failed);
}

TEST(ValidationRecords, a_degraded_diagnostic_is_stated_if_nothing_else_is_wrong) {
  auto result = result_of(learning::Verdict::failed);
  result.record.checks = {{.check = "gpu.pcie_bandwidth",
                           .gpu = "1",
                           .health = Health::degraded,
                           .reason = "low",
                           .text = "low"}};
  EXPECT_EQ(validation_record_of(result).failed.size(), 1U);
}

TEST(ValidationRecords, an_unknown_validation_accuses_nothing) {
  auto result = result_of(learning::Verdict::unknown);
  result.record.checks = {
      {.check = "gpu.ecc", .gpu = {}, .health = Health::unknown, .reason = {}, .text = "no answer"}};
  EXPECT_TRUE(validation_record_of(result).failed.empty());
}

TEST(ValidationRecords, long_texts_and_lists_make_a_line_that_is_accepted) {
  auto result = result_of(learning::Verdict::failed);
  std::string text = "x";
  while (text.size() < 5000)
    text += "é";
  result.summary = text;
  for (int at = 0; at < 200; ++at)
    result.record.checks.push_back(
        {.check = "gpu.ecc", .gpu = "1", .health = Health::failed, .reason = "ecc", .text = text});
  std::string line = api::to_line(jobs::Record(validation_record_of(result)));
  line.pop_back();
  EXPECT_TRUE(api::parse_job_record(line)) << line;
}

}  // namespace
}  // namespace autopilot::agent::validation_records_test
