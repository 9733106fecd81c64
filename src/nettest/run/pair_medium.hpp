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

// One that two nodes may be tested over.
struct Line {
  std::string interface;  // "eth0", "mlx5_0/1"
  std::size_t rate = 0;   // bits/s; 0: not known
};

// By what pairs of nodes are measured: who is tested with whom does not know which it is. Pure.
struct PairMedium {
  std::string_view check;     // the operation, and who judges what it finds
  std::string_view line;      // what two nodes need to be a pair: "interface of the same name"
  std::string_view lack;      // what a node has that has none
  std::string_view no_share;  // why there is no pair where only a share of a line may be taken
  // A line is all that a node has: what is wrong there is wrong with the node.
  bool is_line_node = false;
  PairSettings settings;
  std::vector<Line> (*lines_of)(const api::NodeNetwork& network);
  // Between these lines of two nodes: by which addresses, and with what. unavailable: they have none in
  // common.
  Result<PairExchange::Wish> (*wish_of)(const PeerNetwork& source, const std::string& source_line,
                                        const PeerNetwork& destination, const std::string& destination_line);
};

// Streams of TCP between interfaces of one name.
extern const PairMedium kByTcp;
// Writes and reads of RDMA between ports of one name; who may begin is agreed over the nodes' addresses of
// IPv4.
extern const PairMedium kByRdma;
// Likewise out of the memory of the GPU that is nearest to each port and into it.
extern const PairMedium kByRdmaOfGpus;
// All-reduces by NCCL of all GPUs of two nodes that have as many of NVIDIA, or by RCCL of AMD; it takes
// whatever lines it finds.
extern const PairMedium kByNccl;

// Of tests of pairs that this agent makes, as it is configured.
struct PairChoice {
  static constexpr int kAllOfLine = 100;  // percent

  int most_percent = kAllOfLine;  // of the rate of a line; below all, one of an unknown rate is not tested
  bool all_pairs = false;         // else as many as show who is slow
  std::uint64_t turn = 0;  // each tests other pairs, so that the tests of a day come by more of the ways
};

}  // namespace autopilot::nettest
