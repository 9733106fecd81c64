// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string>

#include "checks/builtin.hpp"
#include "checks/gpu/measured.hpp"
#include "checks/judgement.hpp"
#include "checks/last_results.hpp"
#include "core/attribute_text.hpp"

namespace autopilot::checks {
namespace {

constexpr std::string_view kId = "network.rdma_loopback";

// Of the host: "measured", or "no_targets".
constexpr std::string_view kOutcome = "rdma_loopback.outcome";
// Of each port, in bits per second: what it wrote to itself. `rate` is that of its line, in bits per second;
// where it could not be measured `error` says why.
constexpr std::string_view kWritten = "rdma_loopback.written";
constexpr std::array kFound{kWritten};

constexpr std::string_view kNoTargets = "no_targets";
constexpr std::array<std::string_view, 2> kOutcomes{"measured", kNoTargets};

Result<Observed> observe(const host::Host& host, const Request& request) {
  return last_results(host, request, kId, kProbe);
}

std::string rate_of(const Measured& port) {
  return attribute_text(*port.said, "rate");
}

Findings judge(const JudgeInput& input) {
  constexpr double kGiga = 1e9;
  Findings findings;
  add_unusable(input, {kOutcome, kOutcomes, kNoTargets, kFound, {}}, findings);
  const std::vector<Measured> ports = measured(input, kWritten);
  for (const Measured& port : ports) {
    const auto usual = median_of_others(
        port, ports, [&port](const Measured& other) { return rate_of(other) == rate_of(port); });
    if (!usual) continue;
    const Limit least =
        share_of(limit(input, "network.rdma_loopback.sibling_share"), *usual, "bits_per_second");
    if (port.value >= least.value) continue;
    findings.push_back(
        make_finding(input, port.said->subject, "rdma_loopback_sibling_differs", Health::degraded,
                     port.said->subject.key + " writes " + rounded(port.value / kGiga) +
                         " Gbit/s to itself, its siblings " + rounded(*usual / kGiga) + " Gbit/s",
                     port.value, least));
    add_source(findings.back(), *port.said);
  }
  return findings;
}

}  // namespace

const Check kNetworkRdmaLoopback = {
    .info = active_check_info(kId, "RDMA adapters by themselves", "network", kProbe),
    .observe = observe,
    .judge = judge,
};

}  // namespace autopilot::checks
