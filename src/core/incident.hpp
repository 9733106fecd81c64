// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/finding.hpp"
#include "core/workload.hpp"

namespace autopilot {

// recovering: the condition is gone, its clear rule has not fired yet.
enum class IncidentState : std::uint8_t { open, recovering, closed };

[[nodiscard]] std::string_view to_string(IncidentState state);
[[nodiscard]] std::optional<IncidentState> parse_incident_state(std::string_view word);

// Who is at fault: the program on the machine, the machine, or nobody can say.
enum class FaultEnd : std::uint8_t { application, hardware, unclear };

[[nodiscard]] std::string_view to_string(FaultEnd end);
[[nodiscard]] std::optional<FaultEnd> parse_fault_end(std::string_view word);

// A member of an incident that is no finding: a driver record that says nothing about the health of its
// subject. since and last_seen are its first and last time, evidence "count" how often it was told.
[[nodiscard]] inline bool is_record(const Finding& finding) {
  return finding.health == Health::healthy;
}

struct IncidentMember {
  std::string check;
  Finding finding;
  bool sympathetic = false;         // a consequence of the cause, not the cause
  std::optional<WallTime> cleared;  // when the finding went away; the incident may outlast it
};

// A person has seen the incident.
struct Acknowledgement {
  std::string by;  // "alice (uid 1000)"; the name only where the machine itself knows it
  WallTime at{};
  std::string reason;  // in the words of that person

  static constexpr std::size_t kMaxReasonBytes = 500;
};

struct Incident {
  std::string id;  // unique over the life of the journal: "<boot id, 8 digits>-<number>"
  IncidentState state = IncidentState::open;
  std::string check;  // of the cause
  std::string reason;
  std::string cause;            // id in catalog/causes.yaml; empty where a finding stands for itself
  std::optional<FaultEnd> end;  // with a cause only
  std::string because;          // one sentence: why that end
  Subject blamed;               // the end itself
  Health health =
      Health::degraded;  // worst of the members that stand; healthy: records alone, as of a program
  Action action = Action::none;
  double confidence = 0;  // 0..1, the catalog's for the reason until grouping says better
  std::string summary;
  WallTime opened{};
  WallTime updated{};
  std::optional<WallTime> closed;
  std::string closed_by;                        // the clear rule that fired last, or "merged_into:<id>"
  std::optional<Acknowledgement> acknowledged;  // the last one
  bool injected = false;
  std::vector<IncidentMember> members;  // in order of time; the first that is not sympathetic is the cause
  std::int64_t further = 0;             // members beyond kMaxMembers, counted only
  // Who used or held its GPUs while it lasted, also those that are gone; of a fault of one process that one
  // alone.
  std::vector<Workload> workloads;

  static constexpr std::size_t kMaxMembers = 64;
  static constexpr std::size_t kMaxWorkloads = 16;
};

}  // namespace autopilot
