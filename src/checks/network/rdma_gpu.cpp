// SPDX-License-Identifier: Apache-2.0
#include "checks/builtin.hpp"
#include "checks/last_results.hpp"
#include "checks/network/pair_bandwidth.hpp"

namespace autopilot::checks {
namespace network_rdma_gpu {
namespace {

constexpr std::string_view kId = "network.rdma_gpu";

Result<Observed> observe(const host::Host& host, const Request& request) {
  return last_results(host, request, kId, "probe");
}

Findings judge(const JudgeInput& input) {
  return judge_pair_bandwidth(input, kId);
}

}  // namespace
}  // namespace network_rdma_gpu

const Check kNetworkRdmaGpu = {
    .info = pair_bandwidth_info(network_rdma_gpu::kId, "GPU RDMA between nodes"),
    .observe = network_rdma_gpu::observe,
    .judge = network_rdma_gpu::judge,
};

}  // namespace autopilot::checks
