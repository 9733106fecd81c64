// SPDX-License-Identifier: Apache-2.0
#include "agent/jobs/validation_records.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include "core/text.hpp"

namespace autopilot::agent {
namespace {

using learning::CheckOutcome;

constexpr std::size_t kLongestSummary = 512;  // bytes
constexpr std::size_t kLongestOutcome = 256;  // bytes

jobs::ValidationVerdict verdict_of(learning::Verdict verdict) {
  switch (verdict) {
    case learning::Verdict::passed:
      return jobs::ValidationVerdict::passed;
    case learning::Verdict::failed:
      return jobs::ValidationVerdict::failed;
    case learning::Verdict::unknown:
      break;
  }
  return jobs::ValidationVerdict::unknown;
}

// The sentences about checks that got worse begin with the check.
bool is_worse_than_before(const learning::ValidationResult& result, const CheckOutcome& outcome) {
  return std::ranges::any_of(
      result.worse, [&](std::string_view sentence) { return sentence.starts_with(outcome.check + ": "); });
}

jobs::ValidationDepth depth_of(learning::Depth depth) {
  switch (depth) {
    case learning::Depth::passive:
      return jobs::ValidationDepth::passive;
    case learning::Depth::quick:
      return jobs::ValidationDepth::quick;
    case learning::Depth::deep:
      return jobs::ValidationDepth::deep;
    case learning::Depth::pair:
      break;
  }
  return jobs::ValidationDepth::pair;
}

void add_failed(jobs::ValidationRecord& record, const CheckOutcome& outcome) {
  if (record.failed.size() < jobs::ValidationRecord::kMostFailed)
    record.failed.push_back({.check = outcome.check,
                             .reason = outcome.reason,
                             .gpu = outcome.gpu,
                             .text = std::string(cut_utf8(outcome.text, kLongestOutcome))});
}

void add_all_failed(jobs::ValidationRecord& record, const learning::ValidationResult& result) {
  for (const CheckOutcome& outcome : result.record.checks)
    if (outcome.health == Health::failed) add_failed(record, outcome);
  for (const CheckOutcome& outcome : result.record.checks)
    if (outcome.health == Health::degraded && is_worse_than_before(result, outcome))
      add_failed(record, outcome);
  // A degraded diagnostic without a result before the job.
  if (!record.failed.empty()) return;
  for (const CheckOutcome& outcome : result.record.checks)
    if (outcome.health == Health::degraded) add_failed(record, outcome);
}

}  // namespace

jobs::ValidationRecord validation_record_of(const learning::ValidationResult& result) {
  jobs::ValidationRecord record;
  record.time = result.record.end;
  record.node = result.record.place.node;
  record.job = result.record.job;
  record.id = result.record.id;
  record.depth = depth_of(result.record.depth);
  record.verdict = verdict_of(result.record.verdict);
  record.text = std::string(cut_utf8(result.summary, kLongestSummary));
  if (record.verdict == jobs::ValidationVerdict::failed) add_all_failed(record, result);
  return record;
}

}  // namespace autopilot::agent
