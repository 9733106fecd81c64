// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "jobs/decision/signal_weights.hpp"
#include "jobs/detectors/blame.hpp"
#include "jobs/detectors/peer_scores.hpp"
#include "jobs/detectors/peers.hpp"
#include "jobs/fleet.hpp"
#include "jobs/membership.hpp"
#include "jobs/roles.hpp"

namespace autopilot::jobs {

// A culprit that the comparison with its peers names, and the ranks that it holds up.
struct Suspect {
  Blame blame;
  std::vector<int> ranks;
};

// Compares the ranks of one job every minute: GPUs and processes with those of equal role, NICs with the same
// rail of other nodes, hosts with the hosts whose first rank has the same role.
class PeerWatch {
 public:
  // persistent: a rank is judged by its last minutes; otherwise by each minute alone.
  // collects_scores: for take_scores().
  PeerWatch(bool persistent, bool collects_scores)
      : persistent_(persistent), collects_scores_(collects_scores) {}

  // Ranks or roles changed: all histories begin anew.
  void regroup(const Membership& members, const Fleet& fleet, const Roles& roles);
  // The minute that ends at `end`. One suspect for each culprit. `weights`: null for the margins that ship.
  [[nodiscard]] std::vector<Suspect> minute(const Membership& members, const Fleet& fleet,
                                            const JobCondition& job, const SignalWeights* weights,
                                            WallTime end);
  // Complete since the last call.
  [[nodiscard]] std::vector<PeerScore> take_scores() { return scores_.take(); }

 private:
  // A row of the telemetry, and its histories by rule of its table.
  struct Place {
    std::uint32_t node = 0;
    std::uint32_t row = 0;
    std::uint32_t member = 0;  // the first rank that it concerns
  };
  struct Group {
    Table table{};
    std::vector<std::uint32_t> entities;  // positions in places_ of the table
    std::vector<std::uint32_t> hosts;     // node of each
  };
  using Deviations = std::map<std::uint32_t, std::vector<Deviation>>;  // by member

  void add_group(Table table, std::vector<std::uint32_t> entities);
  void group_members(const Membership& members, const Roles& roles);
  void group_nics(const Membership& members, const Fleet& fleet);
  void group_hosts(const Membership& members, const Roles& roles);
  // How far each member of the group is from the margin that ships. After compare(): uses its values.
  void score(std::size_t rule_number, const Group& group, const Fleet& fleet, WallTime end);
  void compare(std::size_t rule_number, const Fleet& fleet, const SignalWeights* weights, WallTime end);
  [[nodiscard]] float value_of(const PeerRule& rule, const Place& place, const Fleet& fleet,
                               WallTime end) const;
  [[nodiscard]] Deviations collect(const Membership& members, const Fleet& fleet, WallTime end) const;
  void locate_processes(const Membership& members, const Fleet& fleet);

  bool persistent_;
  bool collects_scores_;
  PeerScores scores_;
  std::array<std::vector<Place>, kTables> places_;
  std::vector<Group> groups_;
  std::vector<std::vector<HitHistory>> histories_;  // by rule, by entity of its table
  struct Hit {
    Deviation deviation;
    WallTime time{};
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, Hit>
      hits_;  // last hit by rule and entity, while it deviates
  PeerScratch scratch_;
  PeerComparison comparison_;
  std::vector<float> values_;
};

}  // namespace autopilot::jobs
