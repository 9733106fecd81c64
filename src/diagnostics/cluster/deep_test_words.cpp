// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/cluster/deep_test_words.hpp"

#include <algorithm>
#include <map>

#include "core/parse.hpp"
#include "host/gpu/dcgm.hpp"

namespace autopilot::diagnostics {
namespace {

constexpr std::string_view kWitness = "kubernetes";
constexpr std::string_view kNotNamed = "not_named";

// Failed tests of one GPU.
struct Failure {
  bool is_fatal = false;
  std::string tests;  // "pcie,memory"
};

// Parses "pcie.3,memory_bandwidth.0.1", by the numbers of the GPUs. Ignores a cut entry at the end of the
// text and tests without a GPU.
std::map<std::uint32_t, Failure> failures_in(const std::string& failed, std::span<const std::string> fatal) {
  std::map<std::uint32_t, Failure> failures;
  for (const std::string_view test : split(failed, ',')) {
    const auto parts = split(test, '.');
    const std::string word(parts.empty() ? std::string_view() : parts.front());
    for (std::size_t i = 1; i < parts.size(); ++i) {
      const auto number = parse_number<std::uint32_t>(parts[i]);
      if (!number) continue;
      Failure& failure = failures[*number];
      failure.is_fatal = failure.is_fatal || host::is_fatal_test(word, fatal);
      failure.tests += (failure.tests.empty() ? "" : ",") + word;
    }
  }
  return failures;
}

Observation about(Subject subject, std::string_view name, std::string_view word) {
  Observation observation;
  observation.name = name;
  observation.subject = std::move(subject);
  observation.value = std::string(word);
  observation.source = kWitness;
  return observation;
}

Observation about(const DeepTestRecord& record, Subject subject, std::string_view name, std::string_view word,
                  const std::string& failed) {
  Observation observation = about(std::move(subject), name, word);
  observation.time.wall = record.finished;
  observation.attributes = {{"test", record.test},
                            {"began", format_time(record.began)},
                            {"finished", format_time(record.finished)}};
  if (!failed.empty()) observation.attributes.emplace_back("failed", failed);
  return observation;
}

// The record has no result.
Result<Observations> without_result(const DeepTestView& view) {
  if (!view.has_accelerators) return fail(Errc::unsupported, "the node offers no accelerators to test");
  if (view.is_on && view.record.tried)
    return fail(Errc::unavailable, "the last deep test had no result: " + view.record.why);
  if (view.is_on) return fail(Errc::unavailable, "no deep test of this node has ended yet");
  Observations all{about(host_subject(), "deep_test.outcome", "off")};
  for (const Subject& gpu : view.gpus)
    all.push_back(about(gpu, "deep_test.gpu", kNotNamed));
  return all;
}

}  // namespace

std::vector<Subject> gpus_in(const NodeSnapshot& snapshot) {
  std::vector<Subject> gpus;
  const auto result = std::ranges::find(snapshot.results, "gpu.present", &CheckResult::check);
  if (result == snapshot.results.end()) return gpus;
  for (const Observation& observation : result->observations)
    if (observation.name == "gpu.state" && observation.subject.kind == SubjectKind::gpu)
      gpus.push_back(observation.subject);
  return gpus;
}

Result<Observations> deep_test_observations(const DeepTestView& view, std::span<const std::string> fatal) {
  const DeepTestRecord& record = view.record;
  if (record.outcome == DeepTestOutcome::not_tested) return without_result(view);
  Observations all{
      about(record, host_subject(), "deep_test.outcome", to_string(record.outcome), record.failed)};
  all.front().attributes.emplace_back("level", static_cast<std::int64_t>(record.level));
  if (record.tried) {
    all.front().attributes.emplace_back("triedAgain", format_time(*record.tried));
    all.front().attributes.emplace_back("triedAgainWhy", record.why);
  }
  const auto failures = failures_in(record.failed, fatal);
  // The list of fatal tests may have changed since.
  const bool knows_fatal = std::ranges::any_of(failures, [](const auto& one) { return one.second.is_fatal; });
  std::map<const Subject*, Failure> of_gpu;
  for (const auto& [number, failure] : failures)
    if (const Subject* gpu = host::gpu_of({number, ""}, view.gpus)) of_gpu[gpu] = failure;
  for (const Subject& gpu : view.gpus) {
    const auto failure = of_gpu.find(&gpu);
    if (failure == of_gpu.end()) {
      all.push_back(about(record, gpu, "deep_test.gpu", kNotNamed, ""));
      continue;
    }
    const bool is_fatal =
        record.outcome == DeepTestOutcome::fatal && (failure->second.is_fatal || !knows_fatal);
    all.push_back(about(record, gpu, "deep_test.gpu",
                        to_string(is_fatal ? DeepTestOutcome::fatal : DeepTestOutcome::failed),
                        failure->second.tests));
  }
  return all;
}

std::vector<PassRecord> pass_records_of(const DeepTestResult& result, const std::string& test,
                                        std::span<const Subject> gpus, const std::string& boot_id) {
  std::vector<PassRecord> records;
  for (const host::DcgmGpu& passed : result.passed_gpus()) {
    const Subject* gpu = host::gpu_of(passed, gpus);
    if (gpu != nullptr && !gpu->uuid.empty())
      records.push_back({gpu->uuid, "deep_test", result.began, boot_id, test});
  }
  return records;
}

bool waits_for_deep_test(const incidents::WrittenVerdict& written, Verdict verdict,
                         const DeepTestRecord& record) {
  if (written.evicting.empty() || verdict == Verdict::evict) return false;
  return std::ranges::all_of(written.evicting, [&record](const incidents::EvictingIncident& one) {
    const bool was_tested = record.outcome != DeepTestOutcome::not_tested;
    return one.closed && !(was_tested && record.began > *one.closed);
  });
}

std::optional<DeepTestWords> words_of(const DeepTestRecord& record) {
  if (record.outcome == DeepTestOutcome::not_tested || record.level == 0) return std::nullopt;
  const bool has_passed = record.outcome == DeepTestOutcome::passed;
  // "2026-11-22T13:05:09.000Z"
  std::string time = format_time(record.finished).substr(0, std::string_view("2026-11-22T13:05:09").size());
  std::ranges::replace(time, 'T', '_');
  std::ranges::replace(time, ':', '.');
  return DeepTestWords{.name = "dcgm.level." + std::to_string(record.level),
                       .label = (has_passed ? "PASS_" : "ERR_") + time + "UTC",
                       .output = has_passed ? "" : record.failed};
}

}  // namespace autopilot::diagnostics
