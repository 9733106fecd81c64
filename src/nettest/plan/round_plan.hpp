// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "nettest/plan/ends.hpp"
#include "nettest/plan/fabric.hpp"
#include "nettest/plan/flows.hpp"
#include "nettest/plan/readings.hpp"

namespace autopilot::nettest {

// Input of the plan of a round. gone: nodes that no longer take part.
struct Known {
  const Fabric& fabric;
  std::span<const Record> records;
  const std::vector<bool>& gone;
  const PairSettings& settings;
  std::size_t round = 0;  // number of the planned round, from 0
};

// In a round each NIC is in at most one test. Records have no id and no result yet.

// Pairs neighbours under the same leaf; different ones on each rail, so that a node that is bad as a whole is
// low with several partners at once. Nodes left over under their leaf are paired across leaves.
[[nodiscard]] std::vector<Record> first_round(const Known& known);

// Every low or unmeasured NIC gets a healthy partner. A pair that is low although both ends are healthy is
// repeated. Healthy NICs explore the paths between leaves, as many at once as the uplinks carry easily.
// Empty: another round would add no information.
[[nodiscard]] std::vector<Record> next_round(const Known& known, const Readings& readings, const Ends& ends,
                                             std::span<const Flow> flows);

// Sets the expected rate from both NICs, the uplinks shared by the tests of the round, and the limit, where
// rates are known.
void expect(const Fabric& fabric, std::vector<Record>& round, const PairSettings& settings);

}  // namespace autopilot::nettest
