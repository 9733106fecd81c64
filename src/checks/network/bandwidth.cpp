// SPDX-License-Identifier: Apache-2.0
#include "checks/builtin.hpp"
#include "checks/last_results.hpp"
#include "checks/network/pair_bandwidth.hpp"

namespace autopilot::checks {
namespace network_bandwidth {
namespace {

constexpr std::string_view kId = "network.bandwidth";

Result<Observed> observe(const host::Host& host, const Request& request) {
  return last_results(host, request, kId, "probe");
}

Findings judge(const JudgeInput& input) {
  return judge_pair_bandwidth(input, kId);
}

}  // namespace
}  // namespace network_bandwidth

const Check kNetworkBandwidth = {
    .info = pair_bandwidth_info(network_bandwidth::kId, "Bandwidth between nodes"),
    .observe = network_bandwidth::observe,
    .judge = network_bandwidth::judge,
};

}  // namespace autopilot::checks
