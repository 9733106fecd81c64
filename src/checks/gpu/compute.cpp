// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string>

#include "checks/builtin.hpp"
#include "checks/gpu/gpu_check.hpp"
#include "checks/judgement.hpp"
#include "checks/last_results.hpp"
#include "core/attribute_text.hpp"

namespace autopilot::checks {
namespace {

constexpr std::string_view kId = "gpu.compute";
constexpr std::string_view kWitness = "probe";

// Of the host, as for gpu.pcie_bandwidth: "measured", "in_use" with `by`.
constexpr std::string_view kOutcome = "compute.outcome";
// Of each GPU: "passed"; "failed" with `failed`, what was too slow or wrong. What was measured stands beside
// it: compute.host_to_device_pinned, .host_to_device, .device_to_host_pinned, .device_to_host and .daxpy in
// GB/s, .dgemm in TFLOP/s, .temperature, .power and .sm_clock.
constexpr std::string_view kResult = "compute.result";
constexpr std::array kFound{kResult};

constexpr std::array<std::string_view, 2> kOutcomes{"measured", "in_use"};
constexpr std::array<std::string_view, 2> kResults{"passed", "failed"};

Result<Observed> observe(const host::Host& host, const Request& request) {
  return last_results(host, request, kId, kWitness);
}

Findings judge(const JudgeInput& input) {
  Findings findings;
  add_unusable(input, {kOutcome, kOutcomes, {}, kFound, kResults}, findings);
  for (const Observation& said : input.history.latest()) {
    if (said.name != kResult) continue;
    if (!said.value || to_string(*said.value) != "failed") continue;
    const std::string failed = attribute_text(said, "failed");
    findings.push_back(make_finding(input, said.subject, "compute_test_failed", Health::degraded,
                                    gpu_text(said.subject) + " failed the test of its memory and arithmetic" +
                                        (failed.empty() ? "" : ": " + failed)));
    findings.back().evidence = said.attributes;
    findings.back().evidence.emplace_back("witness", said.source);
  }
  return findings;
}

}  // namespace

const Check kGpuCompute = {
    .info = active_check_info(kId, "Memory and arithmetic", "gpu", kWitness),
    .observe = observe,
    .judge = judge,
};

}  // namespace autopilot::checks
