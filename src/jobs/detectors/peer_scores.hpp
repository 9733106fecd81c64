// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.hpp"
#include "jobs/detectors/peers.hpp"

// How near the members of a peer group are to the margins of the rules: what thresholds are learned from.
namespace autopilot::jobs {

// For each member, by how many margins of the rule it is worse than the median of the group; above 1 is a
// hit, below 0 is better. NaN: unknown, fewer than 4 known members, or a rule with an exact comparison.
[[nodiscard]] std::vector<float> margins_reached(std::span<const float> values, const PeerRule& rule,
                                                 PeerScratch& scratch);

// The highest score of one signal on one node within half an hour.
struct PeerScore {
  std::string signal;
  std::string node;
  WallTime time{};  // end of the half hour
  // The margin, as a multiple of the rule's, up to which some part of the node would have deviated for long
  // enough: the k-th largest of the last m minutes.
  double margins = 0;
};

// Joins the minutes of the parts of nodes to scores. O(m) for each value.
class PeerScores {
 public:
  static constexpr Duration kBlock = std::chrono::minutes(30);
  static constexpr std::size_t kMostScores = 1'000'000;  // that wait for take(); more are left out
  using Part = std::pair<std::uint32_t, std::uint32_t>;  // rule and entity

  // One value of margins_reached() for the minute that ends at `end`; times do not fall.
  void add(Part part, const PeerRule& rule, const std::string& node, float margins, WallTime end);
  // The parts have other peers now: their minutes begin anew.
  void clear() { minutes_.clear(); }
  // Of half hours that are over; by signal, node and time.
  [[nodiscard]] std::vector<PeerScore> take();

 private:
  struct Block {
    WallTime end{};
    double margins = 0;
  };
  void finish(const std::string& signal, const std::string& node, const Block& block);

  std::map<Part, std::vector<float>> minutes_;                   // the last known ones, the newest last
  std::map<std::pair<std::string, std::string>, Block> blocks_;  // by signal and node
  std::vector<PeerScore> done_;
};

}  // namespace autopilot::jobs
