// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/network.hpp"
#include "core/result.hpp"
#include "nettest/plan/readings.hpp"
#include "nettest/run/address_book.hpp"
#include "nettest/run/pair_exchange.hpp"

namespace autopilot::nettest {

// Interface or RDMA port over which two nodes may be tested.
struct Line {
  std::string interface;  // "eth0", "mlx5_0/1"
  std::size_t rate = 0;   // bits/s; 0: not known
};

// Transport with which pairs of nodes are measured; the choice of pairs does not depend on it. Pure.
struct PairMedium {
  std::string_view check;     // the operation, and the check that judges its observations
  std::string_view line;      // what two nodes need to be a pair: "interface of the same name"
  std::string_view lack;      // sentence about a node without such a line
  std::string_view no_share;  // why there is no pair where a test may take only a share of a line
  // A line is everything that a node has: a fault of the line is a fault of the node.
  bool is_line_node = false;
  PairSettings settings;
  std::vector<Line> (*lines_of)(const api::NodeNetwork& network);
  // Addresses and settings of a test between these lines of two nodes. unavailable: the nodes have no
  // addresses in common.
  Result<PairExchange::Wish> (*wish_of)(const PeerNetwork& source, const std::string& source_line,
                                        const PeerNetwork& destination, const std::string& destination_line);
};

// TCP streams between interfaces of the same name.
extern const PairMedium kByTcp;
// RDMA writes and reads between ports of the same name; the programs set up their connection over the IPv4
// addresses of the nodes.
extern const PairMedium kByRdma;
// Likewise between the memories of the GPUs that are nearest to the ports.
extern const PairMedium kByRdmaOfGpus;
// All-reduces of all GPUs of two nodes with the same number of GPUs, by NCCL (NVIDIA) or RCCL (AMD); the
// library chooses its lines itself.
extern const PairMedium kByNccl;

// Configured settings of the pair tests that this agent runs.
struct PairChoice {
  static constexpr int kAllOfLine = 100;  // percent

  int most_percent = kAllOfLine;  // of the rate of a line; below 100, lines of unknown rate are not tested
  bool all_pairs = false;         // else only as many pairs as show which node is slow
  std::uint64_t turn = 0;         // each turn tests other pairs, so that the tests of a day cover more paths
};

}  // namespace autopilot::nettest
