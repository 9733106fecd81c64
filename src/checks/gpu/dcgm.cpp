// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string>

#include "checks/builtin.hpp"
#include "checks/diagnostic_results.hpp"
#include "checks/gpu/gpu_check.hpp"
#include "checks/judgement.hpp"
#include "core/observation.hpp"

namespace autopilot::checks {
namespace gpu_dcgm {
namespace {

constexpr std::string_view kId = "gpu.dcgm";
constexpr std::string_view kWitness = "dcgm";

// About the host: "tested", with `level`; "in_use" with `by`, if a workload prevented the last diagnostic;
// the results of the one before it remain.
constexpr std::string_view kOutcome = "dcgm.outcome";
// About each GPU, and about the host for tests that name no GPU: "passed"; "warned", "failed" and "fatal"
// with `tests` and `message`.
constexpr std::string_view kResult = "dcgm.result";
constexpr std::array kFound{kResult};

constexpr std::array<std::string_view, 2> kOutcomes{"tested", "in_use"};
constexpr std::array<std::string_view, 4> kResults{"passed", "warned", "failed", "fatal"};

Result<Observed> observe(const host::Host& host, const Request& request) {
  return last_results(host, request, kId, kWitness);
}

struct Meaning {
  std::string_view word;
  std::string_view reason;
  Health health;
  std::string_view text;
};
constexpr std::array<Meaning, 3> kMeanings{{
    {"fatal", "dcgm_fatal", Health::failed, " failed DCGM's diagnostic"},
    {"failed", "dcgm_failed", Health::degraded, " failed DCGM's diagnostic"},
    {"warned", "dcgm_warned", Health::degraded, " got a warning from DCGM's diagnostic"},
}};

std::string detail_of(const Observation& result) {
  const std::string tests = attribute_text(result, "tests");
  const std::string message = attribute_text(result, "message");
  if (tests.empty() || message.empty()) return tests + message;
  return tests + " (" + message + ")";
}

Findings judge(const JudgeInput& input) {
  Findings findings;
  add_unusable(input, {kOutcome, kOutcomes, {}, kFound, kResults}, findings);
  for (const Observation& result : input.history.latest()) {
    if (result.name != kResult || !result.value) continue;
    const std::string word = to_string(*result.value);
    for (const Meaning& meaning : kMeanings) {
      if (meaning.word != word) continue;
      const std::string subject = result.subject == host_subject() ? "the node" : gpu_text(result.subject);
      const std::string detail = detail_of(result);
      findings.push_back(
          make_finding(input, result.subject, meaning.reason, meaning.health,
                       subject + std::string(meaning.text) + (detail.empty() ? "" : ": " + detail)));
      findings.back().evidence = result.attributes;
      findings.back().evidence.emplace_back("witness", result.source);
    }
  }
  return findings;
}

}  // namespace
}  // namespace gpu_dcgm

const Check kGpuDcgm = {
    .info = active_check_info(gpu_dcgm::kId, "DCGM's diagnostic", "gpu", gpu_dcgm::kWitness),
    .observe = gpu_dcgm::observe,
    .judge = gpu_dcgm::judge,
};

}  // namespace autopilot::checks
