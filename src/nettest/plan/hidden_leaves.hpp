// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "nettest/plan/ends.hpp"
#include "nettest/plan/fabric.hpp"
#include "nettest/plan/readings.hpp"

namespace autopilot::nettest {

// Rails on which nodes seem to be under leaves that the fabric does not name, where the paths between these
// leaves are narrower or shared. Evidence is that more pairs of unknown locality are low than broken links
// explain, although each of their NICs was as usual with another one; or that more NICs are low than are bad
// at the same time. Low results there are no evidence against a NIC.
[[nodiscard]] std::vector<RailNumber> rails_of_hidden_leaves(const Fabric& fabric,
                                                             std::span<const Record> records,
                                                             const Readings& readings, const Ends& ends,
                                                             const PairSettings& settings);

// Rails with few nodes of unknown leaf, on which exactly those pairs are low that would be between some
// leaves with at least two nodes each. This does not prove such leaves: a slow NIC can give the same result.
[[nodiscard]] std::vector<RailNumber> rails_that_fit_leaves(const Fabric& fabric,
                                                            std::span<const Record> records,
                                                            const std::vector<bool>& gone,
                                                            const Readings& readings, const Ends& ends,
                                                            const PairSettings& settings);

// Removes low readings on these rails between nodes of unknown locality, and their usual values. Readings
// without any data remain.
[[nodiscard]] Readings without_hidden_leaves(Readings readings, std::span<const Record> records,
                                             std::span<const RailNumber> rails);

}  // namespace autopilot::nettest
