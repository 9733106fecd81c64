// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "jobs/metrics.hpp"

// The member of a group whose recent course of one metric differs most from its peers. Finds what changes
// shape, such as a rhythm, without a rule for the direction.
namespace autopilot::jobs {

struct SimilarityRule {
  float score = 6;            // a candidate's distance exceeds the usual one by more than this many spreads
  float least_spread = 0.1F;  // of the distances of members; normalised units
  // Spread of the metric, at least: fraction of its median, and absolute (unit of the metric, above 0).
  float floor_relative = 0.01F;
  float floor_absolute = 1;
};
// With the floors of the metric's peer rule; std::nullopt: the metric has none, or is compared exactly.
[[nodiscard]] std::optional<SimilarityRule> similarity_rule(Metric metric);

struct Dissimilar {
  std::uint32_t member = 0;  // position in the group
  float score = 0;
  float offset = 0;  // its mean, in spreads from the group's median; below 0: lower than its peers
};

// Buffers that are reused from call to call; contents without meaning.
struct SimilarityScratch {
  std::vector<float> pooled, rows, distances, medians;
};

// `values`: for each member `windows` values (usual: 8 of 10 s), oldest first; members * windows in all. NaN
// and infinity are unknown; a member, and a pair, is compared if at least half of the windows are known.
// Pairs are compared at the best shift of -1, 0 or 1 windows, as nodes' clocks differ. std::nullopt: no
// member is dissimilar, fewer than 4 can be compared, or sizes do not fit. Up to 1024 members each is
// compared with all, O(members^2 * windows); above with 64 at a fixed stride. The distance of a member is the
// median over its peers, so that a second faulty member does not hide the first.
[[nodiscard]] std::optional<Dissimilar> find_dissimilar(std::span<const float> values, std::size_t windows,
                                                        const SimilarityRule& rule,
                                                        SimilarityScratch& scratch);

// A candidate is reported after it was the same for some minutes in a row.
class CandidateHistory {
 public:
  static constexpr int kMinutes = 4;
  // Once a minute. std::nullopt: no candidate. True: this candidate is persistent.
  bool add(std::optional<std::uint32_t> member, int minutes = kMinutes);

 private:
  std::optional<std::uint32_t> member_;
  int minutes_ = 0;
};

}  // namespace autopilot::jobs
