// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "learning/hazard/episodes.hpp"

// Begins and ends of faults, as a public fault trace lists them.
namespace autopilot::learning {

struct FaultEvent {
  std::string node;
  double day = 0;  // since the first event of the trace
  bool is_begin = false;
  // What the operator of the trace calls the fault: "Hardware Failure", "GPU", "GPU Lost".
  std::string level, kind, description;
};

// Events that do not fit together. None of them is used silently.
struct TraceProblems {
  std::size_t out_of_order = 0;        // earlier than the event before: sorted
  std::size_t repeated_begins = 0;     // of a fault that has begun: left out
  std::size_t ends_without_begin = 0;  // left out
  std::size_t unknown_levels = 0;      // begins of a level that is not known: used as class unknown
  std::size_t open = 0;                // faults without an end: open at the end of the history
  std::vector<std::string> examples;   // the first kMostExamples, a sentence each

  static constexpr std::size_t kMostExamples = 10;
};

struct TraceFaults {
  std::vector<NodeFault> faults;
  TraceProblems problems;
  double end_day = 0;  // of the last event
};

// "Hardware Failure" is hardware, but cables and NICs are network; "Software Failure" is software; other
// levels, as stress tests that fail, are unknown.
[[nodiscard]] FaultClass class_of(const FaultEvent& event);

// Joins begin and end of each fault: of one node, level, class and description. Events of one day keep their
// order.
[[nodiscard]] TraceFaults pair_events(std::vector<FaultEvent> events);

}  // namespace autopilot::learning
