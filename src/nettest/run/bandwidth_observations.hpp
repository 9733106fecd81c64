// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/bandwidth.hpp"
#include "core/observation.hpp"
#include "nettest/plan/fabric.hpp"
#include "nettest/plan/verdict.hpp"
#include "nettest/run/left_out.hpp"

namespace autopilot::nettest {

// Wrong result of an all-reduce over the GPUs of several nodes.
struct WrongSum {
  std::string problem;  // a sentence
  std::string node;     // whose GPU got it; empty: not known
};

// Observations of a run of bandwidth tests, for its checks (src/checks/network/pair_bandwidth.cpp lists the
// names). Pure.

inline constexpr std::string_view kBandwidthCheck = "network.bandwidth";
inline constexpr std::string_view kRdmaBandwidthCheck = "network.rdma_bandwidth";
inline constexpr std::string_view kRdmaGpuCheck = "network.rdma_gpu";
inline constexpr std::string_view kNcclCheck = "network.nccl_allreduce";
// Of more pairs, the best are left out, and the outcome contains their number.
inline constexpr std::size_t kMostPairsTold = 1000;
inline constexpr std::size_t kMostLeftOutTold = 100;
// Sample for "nothing arrived", because samples must be more than 0; bits/s.
inline constexpr double kNothingArrived = 1;

struct BandwidthFound {
  Fabric fabric;
  Verdict verdict;
  std::map<std::uint32_t, std::string> problems;  // why nothing was measured, by id of the test
  std::map<std::uint32_t, WrongSum> wrong;        // wrong results, likewise
  std::vector<std::string> pods;                  // of the agents, by number of the node; empty: in none
  std::map<std::uint32_t, api::BandwidthLatency> latencies;  // to the destination, by id of the test
  bool is_line_node = false;                                 // see PairMedium
  std::vector<LeftOut> left_out;
};
[[nodiscard]] Observations bandwidth_observations(const BandwidthFound& found, Instant ended);
// For fewer than two nodes to test.
[[nodiscard]] Observations no_bandwidth_targets(Instant now);
// "12 pairs of 8 nodes measured in 2 rounds: no suspect found"
[[nodiscard]] std::string bandwidth_sentence(const BandwidthFound& found);

}  // namespace autopilot::nettest
