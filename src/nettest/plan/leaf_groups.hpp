// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <vector>

#include "nettest/plan/ends.hpp"
#include "nettest/plan/fabric.hpp"
#include "nettest/plan/readings.hpp"

namespace autopilot::nettest {

// Arrangements of NICs under leaves that the fabric does not name. Pure.

// Largest number of NICs of unknown leaf on a rail for this search. The tests of few rounds do not connect
// more NICs, and with many NICs it is normal that some pairs did not meet.
inline constexpr std::size_t kMostForLeaves = 48;

// Two NICs that were tested with each other.
struct MetPair {
  NicNumber one = 0;
  NicNumber other = 0;
  bool is_low = false;  // in each direction that counts; false: as usual
};

// Pairs of a rail with unknown locality, by their last test. Excludes results that leaves do not explain:
// readings of an end that is bad while its NIC is healthy in the other direction, pairs that are clearly low
// in one direction only, and pairs without any data.
[[nodiscard]] std::vector<MetPair> met_on(RailNumber rail, std::span<const Record> records,
                                          const Readings& readings, const Ends& ends,
                                          const PairSettings& settings);

// Group number of each NIC. NICs of one group are as usual with each other, directly or through others of the
// group.
[[nodiscard]] std::map<NicNumber, std::size_t> groups_of(std::span<const MetPair> pairs);

// True if the NICs of the pairs fit under several leaves with at least two NICs each, so that exactly the low
// pairs are between two leaves. With more than 31 NICs, only two leaves are tried. of_gone: pairs of NICs
// that no longer count; pairs that were as usual still connect others.
[[nodiscard]] bool fit_leaves(std::span<const MetPair> pairs, std::span<const MetPair> of_gone = {});

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
