// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string>

#include "checks/builtin.hpp"
#include "checks/gpu/gpu_check.hpp"
#include "checks/judgement.hpp"
#include "checks/last_results.hpp"
#include "core/attribute_text.hpp"

namespace autopilot::checks {
namespace gpu_dcgm {
namespace {

constexpr std::string_view kId = "gpu.dcgm";
constexpr std::string_view kWitness = "dcgm";

// Of the host: "tested", with `level`; "in_use" with `by`, where somebody's work kept the last test from
// running, beside what the test before it found.
constexpr std::string_view kOutcome = "dcgm.outcome";
// Of each GPU, and of the host for tests that name none: "passed"; "warned", "failed" and "fatal" with
// `tests` and `message`.
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
  std::string_view says;
};
constexpr std::array<Meaning, 3> kMeanings{{
    {"fatal", "dcgm_fatal", Health::failed, " failed DCGM's diagnostic"},
    {"failed", "dcgm_failed", Health::degraded, " failed DCGM's diagnostic"},
    {"warned", "dcgm_warned", Health::degraded, " was warned of by DCGM's diagnostic"},
}};

std::string detail_of(const Observation& said) {
  const std::string tests = attribute_text(said, "tests");
  const std::string message = attribute_text(said, "message");
  if (tests.empty() || message.empty()) return tests + message;
  return tests + " (" + message + ")";
}

Findings judge(const JudgeInput& input) {
  Findings findings;
  add_unusable(input, {kOutcome, kOutcomes, {}, kFound, kResults}, findings);
  for (const Observation& said : input.history.latest()) {
    if (said.name != kResult || !said.value) continue;
    const std::string word = to_string(*said.value);
    for (const Meaning& meaning : kMeanings) {
      if (meaning.word != word) continue;
      const std::string whom = said.subject == host_subject() ? "the node" : gpu_text(said.subject);
      const std::string detail = detail_of(said);
      findings.push_back(
          make_finding(input, said.subject, meaning.reason, meaning.health,
                       whom + std::string(meaning.says) + (detail.empty() ? "" : ": " + detail)));
      findings.back().evidence = said.attributes;
      findings.back().evidence.emplace_back("witness", said.source);
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
