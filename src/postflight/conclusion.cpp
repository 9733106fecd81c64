// SPDX-License-Identifier: Apache-2.0
#include "postflight/conclusion.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "postflight/comparison.hpp"
#include "postflight/record_id.hpp"

namespace autopilot::postflight {
namespace {

using learning::CheckOutcome;
using learning::ValidationResult;
using learning::Verdict;

// Of all findings; more are left out, the worst last.
constexpr std::size_t kMostOutcomes = 256;

std::string validation_id(const std::string& node, const EndedJob& job) {
  return record_id(job.job + "@" + node + "@" + format_time(job.end));
}

void append(std::vector<CheckOutcome>& all, std::vector<CheckOutcome> more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

// The worst first: beyond the limit, healthy ones are left out.
void keep_worst(std::vector<CheckOutcome>& outcomes) {
  if (outcomes.size() <= kMostOutcomes) return;
  std::ranges::stable_partition(outcomes,
                                [](const CheckOutcome& one) { return one.health != Health::healthy; });
  outcomes.resize(kMostOutcomes);
}

bool has(const std::vector<CheckOutcome>& outcomes, Health health) {
  return std::ranges::find(outcomes, health, &CheckOutcome::health) != outcomes.end();
}

struct Outcomes {
  std::vector<CheckOutcome> passive, required, measured;
};

Outcomes outcomes_in(const ConclusionInput& input) {
  Outcomes all;
  for (const CheckResult& result : input.passive) {
    auto outcomes = outcomes_of(result, input.gpus);
    if (result.required) append(all.required, outcomes);
    append(all.passive, std::move(outcomes));
  }
  for (const CheckResult& result : input.measured)
    append(all.measured, outcomes_of(result, input.plan.gpus));
  for (const MissingResult& missing : input.missing)
    all.measured.push_back(
        {.check = missing.check, .gpu = {}, .health = Health::unknown, .reason = {}, .text = missing.why});
  if (input.pair) append(all.measured, own_outcomes_of(*input.pair, input.node));
  return all;
}

Verdict verdict_of(const ConclusionInput& input, const Outcomes& outcomes, const Comparison& comparison) {
  const bool is_failed = has(outcomes.passive, Health::failed) || has(outcomes.measured, Health::failed) ||
                         has(outcomes.measured, Health::degraded) || comparison.worse > 0;
  if (is_failed) return Verdict::failed;
  const bool is_unknown = !input.stopped.empty() || has(outcomes.measured, Health::unknown) ||
                          has(outcomes.required, Health::unknown) || !comparison.lost.empty() ||
                          (outcomes.passive.empty() && outcomes.measured.empty());
  return is_unknown ? Verdict::unknown : Verdict::passed;
}

std::string first_text(const std::vector<CheckOutcome>& outcomes, Health health) {
  const auto found = std::ranges::find(outcomes, health, &CheckOutcome::health);
  return found == outcomes.end() ? std::string() : found->check + ": " + found->text;
}

std::string counts_text(const ConclusionInput& input) {
  const auto checks = input.passive.size();
  std::string text = std::to_string(checks) + (checks == 1 ? " check" : " checks");
  if (const auto tests = input.measured.size(); tests > 0)
    text += " and " + std::to_string(tests) + (tests == 1 ? " diagnostic" : " diagnostics");
  return text + " ran";
}

// Why GPUs of the job were not tested; empty: they were, or a diagnostic ended early. Before the comparison:
// pages show the beginning.
std::string untested_text(const ConclusionInput& input) {
  const bool is_untested = input.plan.depth == learning::Depth::passive || input.plan.yields;
  return is_untested ? "; " + input.plan.reason : "";
}

std::string summary_of(const ConclusionInput& input, const ValidationResult& result,
                       const Comparison& comparison) {
  std::string text = counts_text(input);
  text += untested_text(input);
  if (result.record.verdict == Verdict::failed && comparison.sentences.empty()) {
    std::string cause = first_text(result.record.checks, Health::failed);
    if (cause.empty()) cause = first_text(result.record.checks, Health::degraded);
    text += "; " + cause;
  }
  if (result.pair_test) text += "; " + to_sentence(*result.pair_test);
  if (const std::string compared = to_sentence(comparison); !compared.empty()) text += "; " + compared;
  if (!input.stopped.empty()) text += "; not complete, because " + input.stopped;
  for (const MissingResult& missing : input.missing)
    text += "; " + missing.check + " has no result: " + missing.why;
  if (!comparison.lost.empty()) text += "; " + comparison.lost.front() + " has no result any more";
  return text;
}

ValidationResult result_of_job(const std::string& node, const EndedJob& job) {
  ValidationResult result;
  result.record.id = validation_id(node, job);
  result.record.place.node = node;
  result.record.reason = learning::Reason::job_end;
  result.record.job = job.job;
  result.name = job.name;
  result.gpus = job.gpus;
  return result;
}

}  // namespace

ValidationResult conclude(const ConclusionInput& input) {
  Outcomes outcomes = outcomes_in(input);
  std::vector<CheckResult> after = input.passive;
  after.insert(after.end(), input.measured.begin(), input.measured.end());
  Comparison comparison = compare(input.before, after, input.gpus);
  ValidationResult result = result_of_job(input.node, input.job);
  result.record.start = input.start;
  result.record.end = std::max(input.start, input.end);  // a clock may be set back
  result.record.depth = input.plan.depth;
  result.record.verdict = verdict_of(input, outcomes, comparison);
  result.record.cause =
      input.stopped.empty() ? input.plan.reason : input.plan.reason + "; stopped: " + input.stopped;
  append(result.record.checks, std::move(outcomes.measured));
  append(result.record.checks, std::move(outcomes.passive));
  keep_worst(result.record.checks);
  result.outcome = input.facts.outcome;
  result.failure = input.facts.failure;
  result.failure_text = input.facts.failure_text;
  result.compared = comparison.compared;
  result.worse_checks = comparison.worse;
  result.tries = input.tries;
  result.wants_pair_test = input.plan.wants_pair_test;
  if (input.pair) result.pair_test = pair_test_of(*input.pair);
  result.summary = summary_of(input, result, comparison);
  result.worse = std::move(comparison.sentences);
  if (result.worse.size() > ValidationResult::kMaxWorse) result.worse.resize(ValidationResult::kMaxWorse);
  return result;
}

ValidationResult not_validated(const std::string& node, const EndedJob& job, const std::string& why,
                               WallTime now) {
  ValidationResult result = result_of_job(node, job);
  result.record.start = now;
  result.record.end = now;
  result.record.verdict = Verdict::unknown;
  result.record.cause = why;
  result.summary = why;
  return result;
}

learning::NodeJob node_job_of(const std::string& node, const EndedJob& job, const JobFacts& facts,
                              std::span<const Subject> gpus) {
  learning::NodeJob record;
  record.id = record_id(job.job + "@" + node);
  record.place.node = node;
  record.job = job.job;
  record.name = job.name;
  for (const Subject& gpu : gpus)
    record.gpus.push_back(card_of(gpu));
  record.start = job.start;
  record.end = std::max(job.start, job.end);  // a clock may be set back
  record.outcome = facts.outcome;
  record.failure = facts.failure;
  return record;
}

}  // namespace autopilot::postflight
