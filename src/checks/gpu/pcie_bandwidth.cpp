// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <chrono>
#include <string>

#include "checks/builtin.hpp"
#include "checks/gpu/gpu_check.hpp"
#include "checks/judgement.hpp"
#include "checks/last_results.hpp"
#include "core/attribute_text.hpp"

namespace autopilot::checks {
namespace {

constexpr std::string_view kId = "gpu.pcie_bandwidth";
constexpr std::string_view kWitness = "probe";

// Of the host: "measured"; "in_use" with `by`, where somebody's work kept the last test from running, beside
// what the test before it measured.
constexpr std::string_view kOutcome = "pcie_bandwidth.outcome";
// Of each GPU, in GB/s: copies of pinned memory of the host.
constexpr std::string_view kHostToDevice = "pcie_bandwidth.host_to_device";

constexpr std::array<std::string_view, 2> kOutcomes{"measured", "in_use"};

Result<Observed> observe(const host::Host& host, const Request& request) {
  return last_results(host, request, kId, kWitness);
}

Findings judge(const JudgeInput& input) {
  Findings findings;
  add_unusable(input, {kOutcome, kOutcomes, {}, kHostToDevice, {}}, findings);
  const Limit least = limit(input, "gpu.pcie_bandwidth.host_to_device");
  for (const Observation& measured : input.history.latest()) {
    if (measured.name != kHostToDevice) continue;
    const auto rate = measured.value ? as_number(*measured.value) : std::nullopt;
    if (!rate || *rate >= least.value) continue;
    findings.push_back(make_finding(input, measured.subject, "pcie_bandwidth_low", Health::degraded,
                                    gpu_text(measured.subject) + " takes " + rounded(*rate) +
                                        " GB/s from the host; expected are " + rounded(least.value),
                                    *rate, least));
    findings.back().evidence.emplace_back("testedAt", attribute_text(measured, "testedAt"));
    findings.back().evidence.emplace_back("witness", measured.source);
  }
  return findings;
}

}  // namespace

const Check kGpuPcieBandwidth = {
    .info = {.id = std::string(kId),
             .title = "Measured PCIe bandwidth",
             .tags = {"gpu", "active"},
             .period = std::chrono::seconds{60},
             .deadline = std::chrono::seconds{5},
             .window = std::chrono::minutes{10},
             .cost = Cost::cheap,
             .witnesses = {std::string(kWitness)},
             .rights = {},
             .needs_window = false},
    .observe = observe,
    .judge = judge,
};

}  // namespace autopilot::checks
