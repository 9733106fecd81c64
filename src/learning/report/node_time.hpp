// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "learning/report/report_records.hpp"

namespace autopilot::learning {

// The interval of a report: [since, until).
struct ReportInterval {
  WallTime since{};
  WallTime until{};
};

// Time of nodes in the interval. A node counts from its first record on. It is unusable while a fault with
// the health `failed`, which is not of class application, is open, or while it is in repair.
struct NodeTime {
  std::size_t nodes = 0;       // with a record before the end of the interval
  double known_hours = 0;      // of all nodes
  double unusable_hours = 0;   // of these; a node with two open faults counts once
  std::size_t faults = 0;      // that made a node unusable in the interval
  std::size_t repairs = 0;     // in the interval
  std::size_t of_unknown = 0;  // faults of unknown health in the interval: not in `unusable_hours`
  std::map<std::string, double, std::less<>> unusable_hours_of;  // by node_key; only above 0

  // Share of known time in which the node is usable, 0..1; nullopt: no node is known.
  [[nodiscard]] std::optional<double> availability() const;
};

// `records` are joined (join_records).
[[nodiscard]] NodeTime node_time(const ReportRecords& records, const ReportInterval& interval);

[[nodiscard]] double hours_between(WallTime from, WallTime to);
// True if [begin, end) and the interval have a moment in common; without an end it is not over.
[[nodiscard]] bool overlaps(const ReportInterval& interval, WallTime begin, std::optional<WallTime> end);
[[nodiscard]] bool is_inside(const ReportInterval& interval, WallTime time);

}  // namespace autopilot::learning
