// SPDX-License-Identifier: Apache-2.0
#include "checks/builtin.hpp"
#include "checks/last_results.hpp"
#include "checks/network/pair_bandwidth.hpp"

namespace autopilot::checks {
namespace network_nccl_allreduce {
namespace {

constexpr std::string_view kId = "network.nccl_allreduce";

Result<Observed> observe(const host::Host& host, const Request& request) {
  return last_results(host, request, kId, "probe");
}

Findings judge(const JudgeInput& input) {
  return judge_pair_bandwidth(input, kId);
}

}  // namespace
}  // namespace network_nccl_allreduce

const Check kNetworkNcclAllreduce = {
    .info = pair_bandwidth_info(network_nccl_allreduce::kId, "All-reduce between nodes"),
    .observe = network_nccl_allreduce::observe,
    .judge = network_nccl_allreduce::judge,
};

}  // namespace autopilot::checks
