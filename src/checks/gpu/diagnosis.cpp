// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>

#include "checks/builtin.hpp"
#include "checks/diagnostic_results.hpp"
#include "checks/gpu/gpu_check.hpp"
#include "checks/judgement.hpp"
#include "core/observation.hpp"
#include "host/host.hpp"

namespace autopilot::checks {
namespace gpu_diagnosis {
namespace {

constexpr std::string_view kId = "gpu.diagnosis";
constexpr std::string_view kWitness = "kubernetes";

// Results that the agent stores (host/diagnostic_results/results.hpp), with attributes `test`, `began`,
// `finished` and `failed`. About the host, from the last diagnostic with a result: "fatal", "failed",
// "passed"; "off": deep diagnostics are disabled and there is no result.
constexpr std::string_view kOutcome = "deep_test.outcome";
// About each GPU: "fatal", "failed"; "not_named": no failure concerns it.
constexpr std::string_view kOfGpu = "deep_test.gpu";

Result<Observed> observe(const host::Host& host, const Request& request) {
  Observed observed;
  observed.observations = TRY(host.tests.last(kId));
  for (Observation& observation : observed.observations)
    observation.time = request.now;  // the current knowledge
  observed.witnesses = {std::string(kWitness)};
  return observed;
}

void add(const JudgeInput& input, const Observation& result, const std::string& subject, Findings& findings) {
  const bool is_fatal = result.value && to_string(*result.value) == "fatal";
  const std::string failed = attribute_text(result, "failed");
  findings.push_back(make_finding(input, result.subject, is_fatal ? "deep_test_fatal" : "deep_test_failed",
                                  is_fatal ? Health::failed : Health::degraded,
                                  subject + " failed the deep test" + (failed.empty() ? "" : ": " + failed)));
  findings.back().evidence = result.attributes;
  findings.back().evidence.emplace_back("witness", result.source);
}

Findings judge(const JudgeInput& input) {
  Findings findings;
  add_unread(input, findings);
  const Observation* outcome = input.history.find(host_subject(), kOutcome);
  if (outcome == nullptr || !outcome->value) return findings;
  const std::string worst = to_string(*outcome->value);
  if (worst == "off") {
    findings.push_back(
        make_finding(input, host_subject(), "not_present", Health::unsupported, "deep tests are off"));
    findings.back().evidence = {{"deepTests", "off"}};
  }
  if (worst != "fatal" && worst != "failed") return findings;
  bool knows_worst = false;
  for (const Observation& result : input.history.latest()) {
    const std::string word = result.name == kOfGpu && result.value ? to_string(*result.value) : "";
    if (word != "fatal" && word != "failed") continue;
    add(input, result, gpu_text(result.subject), findings);
    knows_worst = knows_worst || word == worst;
  }
  // The failure names no GPU, or a removed one.
  if (!knows_worst) add(input, *outcome, "the node", findings);
  return findings;
}

}  // namespace
}  // namespace gpu_diagnosis

const Check kGpuDiagnosis = {
    .info =
        active_check_info(gpu_diagnosis::kId, "Deep diagnostic of all GPUs", "gpu", gpu_diagnosis::kWitness),
    .observe = gpu_diagnosis::observe,
    .judge = gpu_diagnosis::judge,
};

}  // namespace autopilot::checks
