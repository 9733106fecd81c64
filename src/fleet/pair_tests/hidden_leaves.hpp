// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "fleet/pair_tests/ends.hpp"
#include "fleet/pair_tests/fabric.hpp"
#include "fleet/pair_tests/readings.hpp"

namespace autopilot::fleet {

// Rails on which nodes seem to be under leaves that nobody named, and ways between these are narrower than
// ways within them or met by others. Either more pairs of nodes of unknown locality are low than broken links
// explain, though each of their NICs was as usual with another one; or more NICs are low than are bad at
// once. What is low there says nothing about a NIC.
[[nodiscard]] std::vector<RailNumber> rails_of_hidden_leaves(const Fabric& fabric,
                                                             std::span<const Record> records,
                                                             const Readings& readings, const Ends& ends,
                                                             const PairSettings& settings);

// Rails with few nodes whose leaves nobody named, on which just those pairs are low that would be between
// some leaves, with two nodes at least below each. That alone does not say that there are any: somebody may
// as well be slow.
[[nodiscard]] std::vector<RailNumber> rails_that_fit_leaves(const Fabric& fabric,
                                                            std::span<const Record> records,
                                                            const std::vector<bool>& gone,
                                                            const Readings& readings, const Ends& ends,
                                                            const PairSettings& settings);

// Without what is low on these rails between nodes of unknown locality, and what is usual there; where
// nothing came through, that remains.
[[nodiscard]] Readings without_hidden_leaves(Readings readings, std::span<const Record> records,
                                             std::span<const RailNumber> rails);

}  // namespace autopilot::fleet
