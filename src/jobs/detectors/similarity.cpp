// SPDX-License-Identifier: Apache-2.0
#include "jobs/detectors/similarity.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "jobs/detectors/peers.hpp"

namespace autopilot::jobs {

namespace {

// Clip, exact size and number of peers: reference for in-flight detection, 2a.3.
constexpr float kClipped = 6;
constexpr std::size_t kExactMembers = 1024;
constexpr std::size_t kPeersOfLarge = 64;
constexpr std::size_t kLeastMembers = 4;
constexpr std::size_t kMostWindows = 64;
constexpr float kSigmas = 1.4826F;
constexpr float kNoDistance = std::numeric_limits<float>::quiet_NaN();

float median_in_place(std::vector<float>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Normalised courses, a row for each window, each row twice, so that a peer at any offset is in sequence:
// loops run over members, which lets the compiler do several at once.
struct Courses {
  std::vector<float>& cells;  // values of all windows, then weights: 1 known, 0 unknown
  std::size_t members, windows;
  bool is_complete = true;  // all weights are 1

  [[nodiscard]] float* values(std::size_t window) const { return &cells[window * 2 * members]; }
  [[nodiscard]] float* weights(std::size_t window) const { return values(windows + window); }
  [[nodiscard]] bool is_comparable(std::size_t member) const {
    float known = 0;
    for (std::size_t at = 0; at < windows; ++at)
      known += weights(at)[member];
    return 2 * known >= static_cast<float>(windows);
  }
  [[nodiscard]] float mean(std::size_t member) const {
    float sum = 0;
    float known = 0;
    for (std::size_t at = 0; at < windows; ++at) {
      sum += values(at)[member];  // 0 if unknown
      known += weights(at)[member];
    }
    return known > 0 ? sum / known : 0;
  }
};

// False: no value is known.
bool normalise(std::span<const float> given, const SimilarityRule& rule, std::vector<float>& pooled,
               Courses& courses) {
  pooled.clear();
  for (const float value : given)
    if (std::isfinite(value)) pooled.push_back(value);
  if (pooled.empty()) return false;
  courses.is_complete = pooled.size() == given.size();
  const float median = median_in_place(pooled);
  for (float& value : pooled)
    value = std::abs(value - median);
  const float spread = std::max(
      {kSigmas * median_in_place(pooled), rule.floor_relative * std::abs(median), rule.floor_absolute});
  courses.cells.resize(4 * given.size());
  for (std::size_t window = 0; window < courses.windows; ++window) {
    float* values = courses.values(window);
    float* weights = courses.weights(window);
    for (std::size_t member = 0; member < courses.members; ++member) {
      const float value = given[member * courses.windows + window];
      const bool is_known = std::isfinite(value);
      const float scaled = is_known ? std::clamp((value - median) / spread, -kClipped, kClipped) : 0;
      values[member] = values[member + courses.members] = scaled;
      weights[member] = weights[member + courses.members] = is_known ? 1 : 0;
    }
  }
  return true;
}

// Members `first` to `first + count` - 1, at most kBlock.
constexpr std::size_t kBlock = 256;
struct CourseBlock {
  std::size_t first, count;
};
using BlockValues = std::array<float, kBlock>;

// Lowers `best` to the mean difference of each member from the one `offset` further on, whose course is
// `late` windows later (early: the other course is). A pair with less than half of the windows is left.
template <bool IsComplete>
void compare_shifted(const Courses& courses, CourseBlock block, std::size_t offset, std::size_t late,
                     std::size_t early, BlockValues& best) {
  BlockValues sums{};
  BlockValues known{};
  const std::size_t windows = courses.windows - late - early;
  for (std::size_t window = 0; window < windows; ++window) {
    const float* mine = courses.values(window + early) + block.first;
    const float* other = courses.values(window + late) + block.first + offset;
    const float* my_weights = courses.weights(window + early) + block.first;
    const float* other_weights = courses.weights(window + late) + block.first + offset;
    for (std::size_t at = 0; at < block.count; ++at) {
      const float difference = std::abs(mine[at] - other[at]);
      if constexpr (IsComplete) {
        sums[at] += difference;
      } else {
        const float weight = my_weights[at] * other_weights[at];
        sums[at] += weight * difference;
        known[at] += weight;
      }
    }
  }
  const auto all = static_cast<float>(courses.windows);
  for (std::size_t at = 0; at < block.count; ++at) {
    const float counted = IsComplete ? static_cast<float>(windows) : known[at];
    const float mean = sums[at] / std::max(counted, 1.0F);
    best[at] = 2 * counted >= all && mean < best[at] ? mean : best[at];
  }
}

// Which members each member is compared with: `count` of them, `stride` apart.
struct PeerOffsets {
  explicit PeerOffsets(std::size_t members)
      : count(members <= kExactMembers ? members - 1 : kPeersOfLarge),
        // Odd, so that peers differ in their position within a node.
        stride(members <= kExactMembers ? 1 : ((members / (kPeersOfLarge + 1)) - 1) | 1U) {}
  std::size_t count, stride;
};

// The median distance of each member of a block from its peers; NaN: no peer can be compared.
void measure_block(const Courses& courses, CourseBlock block, PeerOffsets peers, SimilarityScratch& scratch) {
  scratch.distances.resize(kBlock * peers.count);
  for (std::size_t peer = 0; peer < peers.count; ++peer) {
    const std::size_t offset = (peer + 1) * peers.stride;
    BlockValues best;
    best.fill(std::numeric_limits<float>::infinity());
    for (const auto& [late, early] : {std::pair<std::size_t, std::size_t>{0, 0}, {1, 0}, {0, 1}}) {
      if (courses.is_complete) {
        compare_shifted<true>(courses, block, offset, late, early, best);
      } else {
        compare_shifted<false>(courses, block, offset, late, early, best);
      }
    }
    for (std::size_t at = 0; at < block.count; ++at)
      scratch.distances[at * peers.count + peer] = best[at];
  }
  for (std::size_t at = 0; at < block.count; ++at) {
    if (!courses.is_comparable(block.first + at)) continue;
    const auto begin = scratch.distances.begin() + static_cast<std::ptrdiff_t>(at * peers.count);
    auto end = begin + static_cast<std::ptrdiff_t>(peers.count);
    if (!courses.is_complete) end = std::remove(begin, end, std::numeric_limits<float>::infinity());
    if (begin == end) continue;
    std::nth_element(begin, begin + (end - begin) / 2, end);
    scratch.medians[block.first + at] = *(begin + (end - begin) / 2);
  }
}

}  // namespace

std::optional<SimilarityRule> similarity_rule(Metric metric) {
  for (const PeerRule& rule : peer_rules())
    if (rule.metric == metric && rule.comparison == Comparison::robust)
      return SimilarityRule{.floor_relative = rule.floor_relative, .floor_absolute = rule.floor_absolute};
  return std::nullopt;
}

std::optional<Dissimilar> find_dissimilar(std::span<const float> values, std::size_t windows,
                                          const SimilarityRule& rule, SimilarityScratch& scratch) {
  if (windows < 2 || windows > kMostWindows || values.size() % windows != 0) return std::nullopt;
  const std::size_t members = values.size() / windows;
  if (members < kLeastMembers) return std::nullopt;
  Courses courses{scratch.rows, members, windows};
  if (!normalise(values, rule, scratch.pooled, courses)) return std::nullopt;

  std::vector<float>& medians = scratch.medians;
  medians.assign(members, kNoDistance);
  for (std::size_t first = 0; first < members; first += kBlock)
    measure_block(courses, {first, std::min(kBlock, members - first)}, PeerOffsets(members), scratch);
  std::vector<float>& known = scratch.pooled;
  known.clear();
  for (const float median : medians)
    if (!std::isnan(median)) known.push_back(median);
  if (known.size() < kLeastMembers) return std::nullopt;
  const float usual = median_in_place(known);
  for (float& value : known)
    value = std::abs(value - usual);
  const float spread = std::max(kSigmas * median_in_place(known), rule.least_spread);

  std::optional<Dissimilar> found;
  for (std::size_t at = 0; at < members; ++at) {
    const float score = (medians[at] - usual) / spread;
    if (score > rule.score && (!found || score > found->score))
      found = Dissimilar{static_cast<std::uint32_t>(at), score, courses.mean(at)};
  }
  return found;
}

bool CandidateHistory::add(std::optional<std::uint32_t> member, int minutes) {
  const bool is_same = member && member == member_;
  member_ = member;
  minutes_ = !member ? 0 : is_same ? std::min(minutes_ + 1, minutes) : 1;
  return minutes_ >= minutes && member.has_value();
}

}  // namespace autopilot::jobs
