// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/child/dcgm_words.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "core/parse.hpp"
#include "diagnostics/child/child_line.hpp"
#include "host/gpu/dcgm.hpp"

namespace autopilot::diagnostics {
namespace {

using Test = DeepTestSummary::Test;

// What all tests together say of one subject.
struct Verdict {
  host::DcgmStatus worst = host::DcgmStatus::pass;
  bool is_fatal = false;
  std::string tests;  // those that are as bad: "pcie,memory"
  std::string message;

  void add(const Test& test, const DcgmTest& how) {
    if (test.status < worst || test.status <= host::DcgmStatus::pass) return;
    if (test.status > worst) *this = {.worst = test.status, .is_fatal = false, .tests = {}, .message = {}};
    const std::string word = host::test_word(test.name);
    const bool makes_fatal = worst == host::DcgmStatus::fail && host::is_fatal_test(word, how.fatal) &&
                             !host::is_excused(test.error, test.message, how.excuses);
    if (message.empty() || (makes_fatal && !is_fatal)) message = test.message;
    is_fatal = is_fatal || makes_fatal;
    if (!has_told(word)) tests += (tests.empty() ? "" : ",") + word;
  }

  // Of another error.
  [[nodiscard]] bool has_told(const std::string& word) const {
    const auto words = split(tests, ',');
    return std::ranges::find(words, std::string_view(word)) != words.end();
  }

  [[nodiscard]] std::string_view word() const {
    if (worst == host::DcgmStatus::fail) return is_fatal ? "fatal" : "failed";
    return worst == host::DcgmStatus::warn ? "warned" : "passed";
  }
};

Observation dcgm_observation(const Subject& subject, std::string_view name) {
  Observation observation;
  observation.name = name;
  observation.subject = subject;
  return observation;
}

Observation dcgm_outcome(const DcgmTest& test, std::string word) {
  Observation observation = dcgm_observation(host_subject(), "dcgm.outcome");
  observation.value = std::move(word);
  observation.attributes = {{"level", static_cast<std::int64_t>(test.level)}};
  return observation;
}

Observation result_of(const Subject& subject, const Verdict& verdict) {
  Observation observation = dcgm_observation(subject, "dcgm.result");
  observation.value = std::string(verdict.word());
  if (!verdict.tests.empty())
    observation.attributes.emplace_back("tests", to_printable(verdict.tests, kMaxChildMessage));
  if (!verdict.message.empty()) observation.attributes.emplace_back("message", verdict.message);
  return observation;
}

Observation untested(const Subject& gpu, const std::string& why) {
  Observation observation = dcgm_observation(gpu, "dcgm.result");
  observation.missing = to_string(Errc::unavailable);
  observation.attributes = {{"error", to_printable(why, kMaxChildMessage)}};
  return observation;
}

const Subject* subject_of(std::uint32_t number, const DeepTestSummary& summary, const DcgmTest& test) {
  const auto named = std::ranges::find(summary.gpus, number, &host::DcgmGpu::id);
  return host::gpu_of(named == summary.gpus.end() ? host::DcgmGpu{number, ""} : *named, test.gpus);
}

// What names no GPU of the test is about the host.
std::map<Subject, Verdict> verdicts_of(const DeepTestSummary& summary, const DcgmTest& test) {
  std::map<Subject, Verdict> verdicts{{host_subject(), {}}};
  for (const Test& one : summary.tests) {
    bool is_of_host = one.gpus.empty();
    for (const std::uint32_t number : one.gpus) {
      const Subject* gpu = subject_of(number, summary, test);
      if (gpu == nullptr)
        is_of_host = true;
      else
        verdicts[*gpu].add(one, test);
    }
    if (is_of_host) verdicts[host_subject()].add(one, test);
  }
  return verdicts;
}

// DCGM 2 names no GPUs where a level has tests of the machine alone.
bool was_tested(const Subject& gpu, const DeepTestSummary& summary, const DcgmTest& test) {
  return summary.gpus.empty() || std::ranges::any_of(summary.gpus, [&](const host::DcgmGpu& named) {
           return host::gpu_of(named, test.gpus) == &gpu;
         });
}

bool has(const DeepTestSummary& summary, host::DcgmStatus least) {
  return std::ranges::any_of(summary.tests, [least](const Test& test) { return test.status >= least; });
}

}  // namespace

Result<Observations> dcgm_observations(const DeepTestSummary& summary, const DcgmTest& test) {
  if (!has(summary, host::DcgmStatus::fail)) {
    if (!summary.problem.empty()) return fail(Errc::unavailable, summary.problem);
    if (!has(summary, host::DcgmStatus::pass)) return fail(Errc::unavailable, "every test was skipped");
  }
  Observations all{dcgm_outcome(test, "tested")};
  const auto verdicts = verdicts_of(summary, test);
  all.push_back(result_of(host_subject(), verdicts.at(host_subject())));
  for (const Subject& gpu : test.gpus) {
    const auto verdict = verdicts.find(gpu);
    if (verdict != verdicts.end() && verdict->second.worst > host::DcgmStatus::pass)
      all.push_back(result_of(gpu, verdict->second));
    else if (!was_tested(gpu, summary, test))
      all.push_back(untested(gpu, "DCGM did not test it"));
    else if (!summary.problem.empty())
      all.push_back(untested(gpu, summary.problem));
    else
      all.push_back(result_of(gpu, {}));
  }
  return all;
}

Observations dcgm_in_use(const DcgmTest& test, const std::string& by) {
  Observations all{dcgm_outcome(test, "in_use")};
  all.front().attributes.emplace_back("by", by);
  return all;
}

}  // namespace autopilot::diagnostics
