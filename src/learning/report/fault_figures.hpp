// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "learning/report/node_time.hpp"
#include "learning/values/labels.hpp"

namespace autopilot::learning {

// Faults of one class that begin in the interval. Faults that are labelled healthy do not count.
struct ClassFigures {
  FaultClass kind = FaultClass::unknown;
  std::size_t faults = 0;
  std::size_t open = 0;              // at the end of the interval
  std::optional<double> mtbf_hours;  // known hours of all nodes for each fault; nullopt: no fault
  // Exact bounds of 95 %; nullopt: no node is known. Without a fault MTBF has no high bound.
  std::optional<double> mtbf_low_hours, mtbf_high_hours;
  std::size_t ended = 0;             // faults that ended in the interval
  std::optional<double> mttr_hours;  // mean time of these from begin to end
};

// From the begin to the detection of faults that begin in the interval.
struct DetectionDelay {
  std::size_t known = 0;
  std::size_t unknown = 0;  // faults of the interval without a detection, or detected before their begin
  std::optional<double> median_seconds, p90_seconds;
};

// Faults of a node that begin in the interval.
struct NodeFaults {
  std::string node;  // node_key
  std::size_t faults = 0;
  std::size_t hardware = 0;  // of these
  double unusable_hours = 0;
};

struct FaultFigures {
  static constexpr std::size_t kMostNodesShown = 20;

  std::array<ClassFigures, 5> classes;  // in the order of FaultClass
  std::size_t labelled_healthy = 0;     // faults of the interval that are in no other figure
  DetectionDelay delay;
  std::size_t nodes_with_fault = 0;
  std::vector<NodeFaults> worst;  // most faults first, then by name; at most kMostNodesShown
};

// `settled` is ordered by id (settle).
[[nodiscard]] FaultFigures fault_figures(const ReportRecords& records, std::span<const SettledFault> settled,
                                         const NodeTime& time, const ReportInterval& interval);

}  // namespace autopilot::learning
