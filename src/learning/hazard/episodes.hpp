// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "learning/records.hpp"

// Faults of nodes as intervals on one axis of time: days since the begin of the history, the unit of the
// public fault trace. Pure.
namespace autopilot::learning {

struct NodeFault {
  std::string node;
  double begin_day = 0;
  std::optional<double> end_day;  // in service again; nullopt: open at the end of the history
  FaultClass kind = FaultClass::unknown;
  bool is_cleared = false;  // a label states that the node was healthy
  std::string job;          // the job that it hit; empty: none
};

// Faults of one node that overlap, as one.
struct Episode {
  double begin_day = 0;
  std::optional<double> end_day;
  FaultClass kind = FaultClass::unknown;  // of its faults: hardware before network, unknown and software
  bool is_cleared = false;                // true if all its faults are
  std::vector<std::string> jobs;          // without repetition
};

struct NodeHistory {
  std::string node;
  std::vector<Episode> episodes;  // in order; at least one; only the last can be open
};

// All nodes from day 0 to `end_day`.
struct FleetHistory {
  std::vector<NodeHistory> nodes;  // with a fault, in the order of their names
  std::size_t without_fault = 0;   // further nodes
  double end_day = 0;

  [[nodiscard]] std::size_t node_count() const { return nodes.size() + without_fault; }
};

inline constexpr std::size_t kMostNodes = 100'000;
inline constexpr std::size_t kMostEpisodesOfNode = 2'000;

// Joins the faults. Leaves out faults of applications: they are not faults of the node. `nodes` is the size
// of the fleet; nullopt: the nodes with a fault are the fleet.
// malformed: a day that is not finite, or outside 0 to end_day; an end before its begin; more nodes with a
// fault than `nodes`. exhausted: one of the limits above.
[[nodiscard]] Result<FleetHistory> make_fleet_history(std::vector<NodeFault> faults,
                                                      std::optional<std::size_t> nodes, double end_day);

[[nodiscard]] double day_of(WallTime time, WallTime origin);
[[nodiscard]] WallTime time_of(double day, WallTime origin);

// The faults of nodes, with their labels. A fault of a card is a fault of its node. Leaves out findings about
// jobs (is_of_job), and faults that end before `origin`; a fault that begins before it begins at day 0.
[[nodiscard]] std::vector<NodeFault> node_faults(std::span<const Fault> faults, std::span<const Label> labels,
                                                 WallTime origin);

// An interval in which a node is in service.
struct ServiceInterval {
  double from_day = 0;
  double to_day = 0;
};

// The intervals in service between `from_day` and `to_day`, in order. A node of the fleet without a fault is
// in service all the time.
[[nodiscard]] std::vector<ServiceInterval> service_intervals(const NodeHistory& node, double from_day,
                                                             double to_day);
[[nodiscard]] double service_days(const NodeHistory& node, double from_day, double to_day);
[[nodiscard]] double service_days(const FleetHistory& fleet, double from_day, double to_day);

// False from the begin of an episode until its end.
[[nodiscard]] bool is_in_service(const NodeHistory& node, double day);
// Episodes that begin after `from_day`, and not after `to_day`.
[[nodiscard]] std::size_t begins_between(const NodeHistory& node, double from_day, double to_day);
[[nodiscard]] std::size_t begins_between(const FleetHistory& fleet, double from_day, double to_day);
// The last return to service until `day`; nullopt: no return.
[[nodiscard]] std::optional<double> last_return(const NodeHistory& node, double day);

}  // namespace autopilot::learning
