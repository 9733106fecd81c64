// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <vector>

#include "fleet/pair_tests/ends.hpp"
#include "fleet/pair_tests/fabric.hpp"
#include "fleet/pair_tests/readings.hpp"

// How NICs may be under leaves that nobody named. Pure.
namespace autopilot::fleet {

// So many NICs of a rail at most, whose leaves nobody named, are looked at this way: the tests of few rounds
// do not bind more of them to each other, and that some of many met nobody else says nothing.
inline constexpr std::size_t kMostForLeaves = 48;

// Two NICs that met.
struct MetPair {
  NicNumber one = 0;
  NicNumber other = 0;
  bool is_low = false;  // each way that counts; else it is as usual
};

// Pairs of a rail whose locality is unknown, by their last test. Without what leaves do not explain: readings
// of an end that is bad while its NIC is fine in the other direction, pairs that are clearly low one way
// alone, and those between which nothing came through.
[[nodiscard]] std::vector<MetPair> met_on(RailNumber rail, std::span<const Record> records,
                                          const Readings& readings, const Ends& ends,
                                          const PairSettings& settings);

// NICs that are as usual with each other, or each with another one of the group, by number of their group.
[[nodiscard]] std::map<NicNumber, std::size_t> groups_of(std::span<const MetPair> pairs);

// Whether the NICs of the pairs fit under several leaves, two at least under each, so that every low pair is
// between two leaves and no other one is; of more than 31 NICs, under two. of_gone: pairs of NICs that do not
// count any more; those that were as usual bind others still.
[[nodiscard]] bool fit_leaves(std::span<const MetPair> pairs, std::span<const MetPair> of_gone = {});

}  // namespace autopilot::fleet
