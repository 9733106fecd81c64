// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string>

#include "checks/builtin.hpp"
#include "checks/diagnostic_results.hpp"
#include "checks/judgement.hpp"
#include "core/observation.hpp"

namespace autopilot::checks {
namespace network_rdma_loopback {
namespace {

constexpr std::string_view kId = "network.rdma_loopback";

// About the host: "measured", or "no_targets".
constexpr std::string_view kOutcome = "rdma_loopback.outcome";
// About each port, in bits per second: writes to itself. `rate` is its line rate in bits per second; `error`
// is the cause of a missing value.
constexpr std::string_view kWritten = "rdma_loopback.written";
// The same from and to the memory of the nearest GPU, `gpu`.
constexpr std::string_view kWrittenByGpu = "rdma_loopback.written_by_gpu";
constexpr std::array kFound{kWritten, kWrittenByGpu};

constexpr std::string_view kNoTargets = "no_targets";
constexpr std::array<std::string_view, 2> kOutcomes{"measured", kNoTargets};

Result<Observed> observe(const host::Host& host, const Request& request) {
  return last_results(host, request, kId, kProbe);
}

std::string rate_of(const Measured& port) {
  return attribute_text(*port.result, "rate");
}

// Compares within one kind of memory: each kind has its own path to the adapter.
void judge_siblings(const JudgeInput& input, std::string_view name, std::string_view reason,
                    const std::string& from, Findings& findings) {
  constexpr double kGiga = 1e9;
  const std::vector<Measured> ports = measured(input, name);
  for (const Measured& port : ports) {
    const auto usual = median_of_others(
        port, ports, [&port](const Measured& other) { return rate_of(other) == rate_of(port); });
    if (!usual) continue;
    const Limit least =
        share_of(limit(input, "network.rdma_loopback.sibling_share"), *usual, "bits_per_second");
    if (port.value >= least.value) continue;
    findings.push_back(make_finding(input, port.result->subject, reason, Health::degraded,
                                    port.result->subject.key + " writes " + rounded(port.value / kGiga) +
                                        " Gbit/s to itself" + from + attribute_text(*port.result, "gpu") +
                                        ", the median of its siblings is " + rounded(*usual / kGiga) +
                                        " Gbit/s",
                                    port.value, least));
    add_source(findings.back(), *port.result);
  }
}

Findings judge(const JudgeInput& input) {
  Findings findings;
  add_unusable(input, {kOutcome, kOutcomes, kNoTargets, kFound, {}}, findings);
  judge_siblings(input, kWritten, "rdma_loopback_sibling_differs", "", findings);
  judge_siblings(input, kWrittenByGpu, "rdma_gpu_memory_sibling_differs", " from the memory of GPU ",
                 findings);
  return findings;
}

}  // namespace
}  // namespace network_rdma_loopback

const Check kNetworkRdmaLoopback = {
    .info = active_check_info(network_rdma_loopback::kId, "RDMA adapter loopback", "network", kProbe),
    .observe = network_rdma_loopback::observe,
    .judge = network_rdma_loopback::judge,
};

}  // namespace autopilot::checks
