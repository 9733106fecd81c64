// SPDX-License-Identifier: Apache-2.0
#include "learning/hazard/fault_events.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

namespace autopilot::learning {
namespace {

constexpr std::string_view kHardwareLevel = "Hardware Failure";
constexpr std::string_view kSoftwareLevel = "Software Failure";
constexpr std::string_view kOtherLevel = "Other Failure";

// Numbers of the faults that are open, by node and kind of fault.
using FaultKey = std::tuple<std::string, std::string, std::string, std::string>;
using OpenFaults = std::map<FaultKey, std::size_t>;

FaultKey key_of(const FaultEvent& event) {
  return {event.node, event.level, event.kind, event.description};
}

std::string event_text(const FaultEvent& event) {
  return "node " + event.node + ", day " + std::to_string(event.day) + ", " + event.kind + " (" +
         event.description + ")";
}

void add_example(TraceProblems& problems, std::string text) {
  if (problems.examples.size() < TraceProblems::kMostExamples) problems.examples.push_back(std::move(text));
}

void add_begin(const FaultEvent& event, OpenFaults& open, TraceFaults& trace) {
  if (!open.emplace(key_of(event), trace.faults.size()).second) {
    ++trace.problems.repeated_begins;
    add_example(trace.problems, event_text(event) + ": begins again before its end; left out");
    return;
  }
  if (event.level != kHardwareLevel && event.level != kSoftwareLevel && event.level != kOtherLevel) {
    ++trace.problems.unknown_levels;
    add_example(trace.problems,
                event_text(event) + ": level '" + event.level + "' is not known; used as class unknown");
  }
  NodeFault fault;
  fault.node = event.node;
  fault.begin_day = event.day;
  fault.kind = class_of(event);
  trace.faults.push_back(std::move(fault));
}

void add_end(const FaultEvent& event, OpenFaults& open, TraceFaults& trace) {
  const auto found = open.find(key_of(event));
  if (found == open.end()) {
    ++trace.problems.ends_without_begin;
    add_example(trace.problems, event_text(event) + ": ends without a begin before it; left out");
    return;
  }
  trace.faults[found->second].end_day = event.day;
  open.erase(found);
}

std::size_t count_out_of_order(const std::vector<FaultEvent>& events) {
  std::size_t count = 0;
  for (std::size_t i = 1; i < events.size(); ++i)
    if (events[i].day < events[i - 1].day) ++count;
  return count;
}

}  // namespace

FaultClass class_of(const FaultEvent& event) {
  if (event.level == kSoftwareLevel) return FaultClass::software;
  if (event.level != kHardwareLevel) return FaultClass::unknown;
  const bool is_network = event.kind == "NIC" || event.kind == "Parameter Plane Cable";
  return is_network ? FaultClass::network : FaultClass::hardware;
}

TraceFaults pair_events(std::vector<FaultEvent> events) {
  TraceFaults trace;
  trace.problems.out_of_order = count_out_of_order(events);
  std::ranges::stable_sort(events, {}, &FaultEvent::day);
  OpenFaults open;
  for (const FaultEvent& event : events) {
    if (event.is_begin)
      add_begin(event, open, trace);
    else
      add_end(event, open, trace);
    trace.end_day = event.day;
  }
  trace.problems.open = open.size();
  return trace;
}

}  // namespace autopilot::learning
