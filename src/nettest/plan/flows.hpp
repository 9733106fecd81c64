// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "nettest/plan/ends.hpp"
#include "nettest/plan/readings.hpp"

namespace autopilot::nettest {

// One source port between two NICs under two leaves, in one direction: one path of the fabric.
struct Flow {
  RailNumber rail = 0;
  std::uint32_t record = 0;  // the test in which it first appeared
  std::uint16_t number = 0;
  LeafNumber from = 0;
  LeafNumber to = 0;
  double share = 1;             // of the usual rate across leaves, the first time
  std::size_t repeats = 0;      // in later tests
  std::size_t low_repeats = 0;  // number of low repeats
  bool is_low = false;          // the first time
};

// Low every time. Flows that share an uplink by chance are low as well, but reach the usual rate in one of
// their repeats.
[[nodiscard]] inline bool is_vote(const Flow& flow) {
  return flow.is_low && flow.repeats > 0 && flow.low_repeats == flow.repeats;
}

[[nodiscard]] std::vector<Flow> read_flows(const Fabric& fabric, std::span<const Record> records,
                                           const Readings& readings, const Ends& ends,
                                           const std::vector<bool>& gone, const PairSettings& settings);

enum class PathKind : std::uint8_t {
  all_uplinks,  // of a leaf
  one_uplink,   // of a leaf
  between_leaves,
  one_spine,
};

// Explanation of low flows between healthy NICs.
struct PathFault {
  PathKind kind = PathKind::one_uplink;
  RailNumber rail = 0;
  std::optional<LeafNumber> leaf;   // not set for a spine
  std::optional<LeafNumber> other;  // only for between_leaves
  double share = 1;                 // of the usual rate, of the low flows
  std::size_t flows = 0;            // flows that use it, or can use it
  std::size_t low = 0;              // number of low flows
  std::size_t ways = 1;             // estimated number of uplinks or spines, from the share of low flows
  double confidence = 0;
  std::vector<std::uint32_t> records;  // tests of the low flows, each once
};

// Finds the leaf with the most votes. It is at fault if that many votes are unlikely by chance and compared
// with other leaves. Its votes are then removed, and the search continues. Remaining votes from all leaves
// point to a spine.
[[nodiscard]] std::vector<PathFault> find_path_faults(const Fabric& fabric, std::span<const Flow> flows,
                                                      const PairSettings& settings);

}  // namespace autopilot::nettest
