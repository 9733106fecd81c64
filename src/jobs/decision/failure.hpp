// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "jobs/decision/last_words.hpp"
#include "jobs/detectors/events.hpp"
#include "jobs/findings.hpp"
#include "jobs/records.hpp"

// Why a job ended.
namespace autopilot::jobs {

// What is known about the end of one attempt. Views are read during the call only.
struct FailureInputs {
  const JobRecord* job = nullptr;  // the ranks of the attempt; must be set
  WallTime end{};
  std::span<const ExitRecord> exits;
  std::span<const LogRecord> logs;
  std::span<const PodRecord> pods;
  std::optional<Event> root;    // EventMemory::root_of
  bool has_node_events = true;  // false: the nodes report no events, so a missing root means nothing
  bool loss_is_nan = false;     // the last reported loss
};

struct Failure {
  FailureKind kind = FailureKind::unclear;
  std::string cause = "unknown";  // key: "ecc_uncorrectable", "xid_79", "preempted", "exit_code" ...
  // What is at fault. Unlocalised unless the evidence names it; an application is the program.
  Entity culprit;
  // Where the end began: the rank that ended first by itself. No accusation.
  std::optional<int> rank;
  std::string node;
  std::optional<int> gpu;
  WallTime time{};                         // of the cause
  std::string sentence;                    // for a person
  std::vector<Evidence> evidence;          // the cause first; at most kMaxEvidence
  std::vector<int> consequences;           // ranks that ended because of another, ascending
  std::vector<std::string> not_available;  // sources without a record

  static constexpr std::size_t kMaxEvidence = 8;
};

// Logs beyond this number, in the order of time, are not read and stated in `not_available`.
inline constexpr std::size_t kMaxLogsRead = 1024;

// A specific cause before a rank that ended for an unstated reason, that before consequences (lost
// connections, timeouts of a watchdog, signals from outside); of equal ones the earliest. An event of
// hardware on the node of a rank precedes what the rank states up to 60 s before it; a link or a degraded
// part explains only ranks that state no cause themselves. Ranks that the job does not have are ignored.
[[nodiscard]] Failure explain_failure(const FailureInputs& inputs);

}  // namespace autopilot::jobs
