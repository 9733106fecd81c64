// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>

#include "jobs/roles.hpp"

namespace autopilot::jobs {

namespace {

// Cut, least members and limit of the exact search: reference for in-flight detection, 2a.1.
constexpr float kCut = 0.25F;
constexpr std::size_t kLeastMembers = 4;
constexpr std::size_t kExactRanks = 4096;
// The spread of a load is at least this fraction of its median: ranks within 2.5 % of each other are one
// cluster, whatever the noise is.
constexpr float kLeastSpread = 0.1F;
// And at least this, for a load that most ranks do not have: tensor share, bytes of memory, NVLink bytes/s.
constexpr std::array kLeastLoad{0.02F, 1e9F, 1e9F};
// More ranks in small clusters than this mean that load does not show the roles.
constexpr double kMostStrays = 0.2;
constexpr float kFarthest = 1e5F;

using Load = std::array<float, 3>;  // scaled: around 0, in spreads

float load_of(const RankLoad& load, std::size_t dimension) {
  return dimension == 0 ? load.tensor : dimension == 1 ? load.mem_bytes : load.nvlink_bytes_s;
}

float middle_of(std::vector<float>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// The ranks that can be compared, and their scaled loads.
struct Points {
  std::vector<std::size_t> ranks;
  std::vector<Load> loads;
};

Points scale(const JobRecord& job, std::span<const RankLoad> loads) {
  Points points;
  for (std::size_t at = 0; at < loads.size(); ++at)
    if (job.ranks[at].gpu) points.ranks.push_back(at);
  std::vector<Load> scaled(points.ranks.size(), Load{});
  std::size_t dimensions = 0;
  for (std::size_t dimension = 0; dimension < 3; ++dimension) {
    std::vector<float> known;
    for (const std::size_t rank : points.ranks)
      if (const float value = load_of(loads[rank], dimension); std::isfinite(value)) known.push_back(value);
    if (known.empty() || known.size() * 2 < points.ranks.size()) continue;
    ++dimensions;
    const float median = middle_of(known);
    for (float& value : known)
      value = std::abs(value - median);
    const float spread =
        std::max({1.4826F * middle_of(known), kLeastSpread * std::abs(median), kLeastLoad[dimension]});
    for (std::size_t at = 0; at < points.ranks.size(); ++at) {
      const float value = (load_of(loads[points.ranks[at]], dimension) - median) / spread;
      scaled[at][dimension] = std::isfinite(value) ? std::clamp(value, -kFarthest, kFarthest) : kMissing;
    }
  }
  Points complete;
  for (std::size_t at = 0; at < scaled.size() && dimensions > 0; ++at) {
    if (std::ranges::any_of(scaled[at], [](float value) { return std::isnan(value); })) continue;
    complete.ranks.push_back(points.ranks[at]);
    complete.loads.push_back(scaled[at]);
  }
  return complete;
}

// The largest difference of a load.
float distance(const Load& left, const Load& right) {
  return std::max({std::abs(left[0] - right[0]), std::abs(left[1] - right[1]), std::abs(left[2] - right[2])});
}

// Disjoint sets; the representative of a set is its first point.
class LoadSets {
 public:
  explicit LoadSets(std::size_t size) : parents_(size) { std::iota(parents_.begin(), parents_.end(), 0U); }

  std::uint32_t find(std::uint32_t at) {
    while (parents_[at] != at)
      at = parents_[at] = parents_[parents_[at]];
    return at;
  }
  void join(std::uint32_t left, std::uint32_t right) {
    left = find(left);
    right = find(right);
    parents_[std::max(left, right)] = std::min(left, right);
  }

 private:
  std::vector<std::uint32_t> parents_;
};

void link_pairs(const std::vector<Load>& loads, LoadSets& sets) {
  for (std::uint32_t left = 0; left < loads.size(); ++left)
    for (std::uint32_t right = left + 1; right < loads.size(); ++right)
      if (distance(loads[left], loads[right]) <= kCut) sets.join(left, right);
}

// Links points of equal and of adjacent cells. With cells of half the cut that links all points nearer than
// half the cut, and none farther than the cut.
void link_cells(const std::vector<Load>& loads, LoadSets& sets) {
  using Cell = std::array<std::int32_t, 3>;
  std::vector<std::pair<Cell, std::uint32_t>> cells;
  cells.reserve(loads.size());
  for (const Load& load : loads) {
    Cell cell{};
    for (std::size_t at = 0; at < 3; ++at)
      cell[at] = static_cast<std::int32_t>(std::floor(load[at] / (0.5F * kCut)));
    cells.emplace_back(cell, static_cast<std::uint32_t>(cells.size()));
  }
  std::ranges::sort(cells);
  std::vector<std::pair<Cell, std::uint32_t>> first;  // of each cell
  for (const auto& each : cells) {
    if (first.empty() || first.back().first != each.first) first.push_back(each);
    sets.join(first.back().second, each.second);
  }
  for (const auto& [cell, point] : first) {
    for (int neighbour = 14; neighbour < 27; ++neighbour) {  // the half of the neighbours that comes later
      const Cell wanted{cell[0] + neighbour / 9 - 1, cell[1] + neighbour / 3 % 3 - 1,
                        cell[2] + neighbour % 3 - 1};
      const auto found =
          std::ranges::lower_bound(first, wanted, {}, [](const auto& each) { return each.first; });
      if (found != first.end() && found->first == wanted) sets.join(point, found->second);
    }
  }
}

struct LoadCluster {
  std::vector<std::uint32_t> points;
  Load centre{};
};

// In order of their first points.
std::vector<LoadCluster> clusters_of(const std::vector<Load>& loads, LoadSets& sets) {
  std::vector<LoadCluster> clusters;
  std::vector<std::size_t> cluster_of(loads.size());
  for (std::uint32_t at = 0; at < loads.size(); ++at) {
    const std::uint32_t first = sets.find(at);
    if (first == at) {
      cluster_of[at] = clusters.size();
      clusters.emplace_back();
    }
    clusters[cluster_of[first]].points.push_back(at);
  }
  for (LoadCluster& cluster : clusters) {
    for (std::size_t dimension = 0; dimension < 3; ++dimension) {
      std::vector<float> values;
      for (const std::uint32_t point : cluster.points)
        values.push_back(loads[point][dimension]);
      cluster.centre[dimension] = middle_of(values);
    }
  }
  return clusters;
}

// The role of each cluster; empty: no cluster is large enough, or too many points are in small ones.
std::vector<int> number_clusters(const std::vector<LoadCluster>& clusters, std::size_t points) {
  std::vector<int> roles(clusters.size(), Roles::kNoPeers);
  std::vector<std::size_t> large;
  std::size_t strays = points;
  for (std::size_t at = 0; at < clusters.size(); ++at) {
    if (clusters[at].points.size() < kLeastMembers) continue;
    roles[at] = static_cast<int>(large.size());
    large.push_back(at);
    strays -= clusters[at].points.size();
  }
  if (large.empty() || static_cast<double>(strays) > kMostStrays * static_cast<double>(points)) return {};
  for (std::size_t at = 0; at < clusters.size(); ++at) {
    if (roles[at] != Roles::kNoPeers) continue;
    const auto nearest = std::ranges::min_element(
        large, {}, [&](std::size_t each) { return distance(clusters[at].centre, clusters[each].centre); });
    roles[at] = static_cast<int>(nearest - large.begin());
  }
  return roles;
}

}  // namespace

Roles clustered_roles(const JobRecord& job, std::span<const RankLoad> loads) {
  if (loads.size() != job.ranks.size()) return {};
  const Points points = scale(job, loads);
  if (points.ranks.empty()) return {};
  LoadSets sets(points.loads.size());
  if (points.loads.size() <= kExactRanks) {
    link_pairs(points.loads, sets);
  } else {
    link_cells(points.loads, sets);
  }
  const std::vector<LoadCluster> clusters = clusters_of(points.loads, sets);
  const std::vector<int> numbers = number_clusters(clusters, points.loads.size());
  if (numbers.empty()) return {};
  Roles found{std::vector<int>(job.ranks.size(), Roles::kNoPeers), 0, RoleSource::clustered};
  for (std::size_t at = 0; at < clusters.size(); ++at)
    for (const std::uint32_t point : clusters[at].points)
      found.role[points.ranks[point]] = numbers[at];
  found.count = 1 + *std::ranges::max_element(numbers);
  return found;
}

}  // namespace autopilot::jobs
