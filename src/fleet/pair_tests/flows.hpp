// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fleet/pair_tests/ends.hpp"
#include "fleet/pair_tests/readings.hpp"

namespace autopilot::fleet {

// One source port between two NICs under two leaves, in one direction: one path of the fabric.
struct Flow {
  RailNumber rail = 0;
  std::uint32_t record = 0;  // the test in which it came first
  std::uint16_t number = 0;
  LeafNumber from = 0;
  LeafNumber to = 0;
  double share = 1;             // of what is usual across leaves, the first time
  std::size_t repeats = 0;      // in later tests
  std::size_t low_repeats = 0;  // of them
  bool is_low = false;          // the first time
};

// Low every time. Flows that meet on an uplink are low as well, by chance: such a flow is as usual sooner or
// later when it is repeated.
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

// What explains low flows between NICs that are fine.
struct PathFault {
  PathKind kind = PathKind::one_uplink;
  RailNumber rail = 0;
  std::optional<LeafNumber> leaf;   // nothing of a spine
  std::optional<LeafNumber> other;  // between_leaves
  double share = 1;                 // of what is usual, of the low flows
  std::size_t flows = 0;            // that pass there or may
  std::size_t low = 0;              // of them
  std::size_t ways = 1;             // about so many uplinks or spines there are, by the part that is low
  double confidence = 0;
  std::vector<std::uint32_t> records;  // of the low flows, each once
};

// The leaf that most votes touch is at fault, if that many would not come by chance or by what flows
// elsewhere show; it takes its votes with it, and so on. What is left over all leaves is a spine's.
[[nodiscard]] std::vector<PathFault> find_path_faults(const Fabric& fabric, std::span<const Flow> flows,
                                                      const PairSettings& settings);

}  // namespace autopilot::fleet
