// SPDX-License-Identifier: Apache-2.0
#include "learning/baseline/medoid.hpp"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "core/stable_hash.hpp"

namespace autopilot::learning {
namespace {

struct Candidate {
  std::uint64_t rank = 0;
  std::size_t position = 0;
};

std::vector<std::size_t> choose_compared(std::span<const NodeResults* const> nodes, std::uint64_t seed) {
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    StableHash hash;
    hash.add_part(std::to_string(seed));
    hash.add_part(nodes[i]->place);
    candidates.push_back({hash.value(), i});
  }
  std::ranges::sort(candidates, [&](const Candidate& a, const Candidate& b) {
    return std::tie(a.rank, nodes[a.position]->place) < std::tie(b.rank, nodes[b.position]->place);
  });
  if (candidates.size() > kMostCompared) candidates.resize(kMostCompared);
  std::vector<std::size_t> positions;
  for (const Candidate& candidate : candidates)
    positions.push_back(candidate.position);
  return positions;
}

}  // namespace

std::size_t medoid_of(std::span<const NodeResults* const> nodes, std::uint64_t seed) {
  const std::vector<std::size_t> compared = choose_compared(nodes, seed);
  std::vector<double> sums(compared.size());
  for (std::size_t i = 0; i < compared.size(); ++i)
    for (std::size_t j = i + 1; j < compared.size(); ++j) {
      const Distribution& one = nodes[compared[i]]->values;
      const Distribution& other = nodes[compared[j]]->values;
      // Symmetric: each of the two is the reference once.
      const double apart = difference(one, other) + difference(other, one);
      sums[i] += apart;
      sums[j] += apart;
    }
  const auto best = std::ranges::min_element(sums);
  return compared[static_cast<std::size_t>(best - sums.begin())];
}

}  // namespace autopilot::learning
