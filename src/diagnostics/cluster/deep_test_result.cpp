// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/cluster/deep_test_result.hpp"

#include <algorithm>
#include <utility>

#include "core/parse.hpp"

namespace autopilot::diagnostics {
namespace {

using host::DcgmStatus;
using Test = DeepTestSummary::Test;

constexpr std::int64_t kSomethingFailed = 1;  // exit code of the helper

DeepTestResult not_tested(std::string why) {
  DeepTestResult result;
  result.why = std::move(why);
  return result;
}

// What stands on the node is read again by names of tests: one that is excused is told by its error.
std::string detail_of(const Test& test, bool is_excused) {
  std::string text =
      is_excused ? "dcgm_error_" + std::to_string(test.error.value_or(0)) : host::test_word(test.name);
  for (const std::uint32_t gpu : test.gpus)
    text += '.' + std::to_string(gpu);
  return text;
}

// Why a test that shows no failure says nothing of the GPUs; empty: it does.
std::string doubt(const kube::ContainerEnd& end, const DeepTestSummary& summary) {
  if (!summary.problem.empty()) return summary.problem;
  if (end.exit_code == kSomethingFailed) return "it ended with failures and names none";
  if (end.exit_code != 0) return "it ended with " + std::to_string(end.exit_code) + ' ' + end.reason;
  const auto passed = [](const Test& test) { return test.status >= DcgmStatus::pass; };
  return std::ranges::any_of(summary.tests, passed) ? "" : "every test was skipped";
}

}  // namespace

std::vector<host::DcgmGpu> DeepTestResult::passed_gpus() const {
  if (!summary.problem.empty() || outcome == DeepTestOutcome::not_tested) return {};
  // Tests without room may be as bad as the last one that is here.
  if (summary.left_out > 0 && summary.tests.back().status > DcgmStatus::pass) return {};
  std::vector<host::DcgmGpu> passed = summary.gpus;
  for (const Test& test : summary.tests) {
    if (test.status <= DcgmStatus::pass) continue;
    if (test.gpus.empty()) return {};
    std::erase_if(passed, [&](const host::DcgmGpu& gpu) {
      return std::ranges::find(test.gpus, gpu.id) != test.gpus.end();
    });
  }
  return passed;
}

DeepTestResult deep_test_result(const kube::Pod& pod, std::span<const std::string> fatal,
                                std::span<const host::DcgmExcuse> excuses) {
  const auto end = std::ranges::find(pod.ends, kTestContainer, &kube::ContainerEnd::name);
  if (end == pod.ends.end()) return not_tested("its pod ended before it began");
  auto summary = parse_deep_test_summary(end->message);
  if (!summary)
    return not_tested("it ended with " + std::to_string(end->exit_code) + ' ' + end->reason +
                      " and left no result (" + summary.error().what + ")");
  DeepTestResult result;
  result.summary = std::move(*summary);
  for (const Test& test : result.summary.tests) {
    if (test.status != DcgmStatus::fail) continue;
    const bool is_excused = host::is_excused(test.error, test.message, excuses);
    const std::string detail = detail_of(test, is_excused);
    const auto told = split(result.failed, ',');
    if (std::ranges::find(told, std::string_view(detail)) == told.end())
      result.failed += (result.failed.empty() ? "" : ",") + detail;
    const bool is_worst = !is_excused && host::is_fatal_test(host::test_word(test.name), fatal);
    result.outcome = std::max(result.outcome, is_worst ? DeepTestOutcome::fatal : DeepTestOutcome::failed);
  }
  if (result.outcome != DeepTestOutcome::not_tested) return result;
  result.why = doubt(*end, result.summary);
  if (result.why.empty()) result.outcome = DeepTestOutcome::passed;
  return result;
}

}  // namespace autopilot::diagnostics
