// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "fleet/pair_tests/ends.hpp"
#include "fleet/pair_tests/fabric.hpp"
#include "fleet/pair_tests/flows.hpp"
#include "fleet/pair_tests/readings.hpp"

namespace autopilot::fleet {

// What a round is planned from; gone: nodes that take no part any more.
struct Known {
  const Fabric& fabric;
  std::span<const Record> records;
  const std::vector<bool>& gone;
  const PairSettings& settings;
  std::size_t round = 0;  // that is planned; the first is 0
};

// In a round a NIC is in one test at most. Records without id and result.

// Neighbours under the same leaf; on each rail others, so that a node that is bad as a whole is low with
// several partners at once. Those that are left over under their leaf are paired across leaves.
[[nodiscard]] std::vector<Record> first_round(const Known& known);

// Everybody who is low or unmeasured gets a partner that is fine; a pair that is low although both ends are
// fine is tried again; NICs that are fine try the ways between leaves, as many at once as the uplinks carry
// easily. Nothing: all is known that a round can tell.
[[nodiscard]] std::vector<Record> next_round(const Known& known, const Readings& readings, const Ends& ends,
                                             std::span<const Flow> flows);

// What both NICs, the uplinks shared by the tests of the round and the limit let expect; where rates are
// known.
void expect(const Fabric& fabric, std::vector<Record>& round, const PairSettings& settings);

}  // namespace autopilot::fleet
