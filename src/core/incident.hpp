// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/finding.hpp"
#include "core/gpu_user.hpp"

namespace autopilot {

// recovering: the condition is gone, its clear rule has not fired yet.
enum class IncidentState : std::uint8_t { open, recovering, closed };

[[nodiscard]] std::string_view to_string(IncidentState state);
[[nodiscard]] std::optional<IncidentState> parse_incident_state(std::string_view word);

// Origin of a fault: the program on the machine, the machine, or unclear.
enum class FaultEnd : std::uint8_t { application, hardware, unclear };

[[nodiscard]] std::string_view to_string(FaultEnd end);
[[nodiscard]] std::optional<FaultEnd> parse_fault_end(std::string_view word);

// A member of an incident that is not a finding: a driver record without a statement about the health of its
// subject. since and last_seen are its first and last time, evidence "count" is the number of records.
[[nodiscard]] inline bool is_record(const Finding& finding) {
  return finding.health == Health::healthy;
}

struct IncidentMember {
  std::string check;
  Finding finding;
  bool sympathetic = false;         // a consequence of the cause, not the cause
  std::optional<WallTime> cleared;  // when the finding cleared; the incident can last longer
};

// A note that a person has seen the incident.
struct Acknowledgement {
  std::string by;  // "alice (uid 1000)"; the name only if the machine itself knows it
  WallTime at{};
  std::string reason;  // text of that person

  static constexpr std::size_t kMaxReasonBytes = 500;
};

struct Incident {
  std::string id;  // unique over the life of the journal: "<boot id, 8 digits>-<number>"
  IncidentState state = IncidentState::open;
  std::string check;  // of the cause
  std::string reason;
  std::string cause;            // id in catalog/causes.yaml; empty for a single finding without a known cause
  std::optional<FaultEnd> end;  // set only with a cause
  std::string because;          // one sentence: the grounds for that fault end
  Subject blamed;               // the culprit
  Health health =
      Health::degraded;  // worst of the active members; healthy: driver records only, as of a program
  Action action = Action::none;
  double confidence = 0;  // 0..1; the catalog's value for the reason unless grouping has a better one
  std::string summary;
  WallTime opened{};
  WallTime updated{};
  std::optional<WallTime> closed;
  std::string closed_by;                        // the clear rule that fired last, or "merged_into:<id>"
  std::optional<Acknowledgement> acknowledged;  // the latest acknowledgement
  bool injected = false;
  std::vector<IncidentMember> members;  // ordered by time; the first that is not sympathetic is the cause
  std::int64_t further = 0;             // members beyond kMaxMembers, counted only
  // GPU users that used or held its GPUs during the incident, including ended ones; for a fault of one
  // process, only that process.
  std::vector<GpuUser> gpu_users;

  static constexpr std::size_t kMaxMembers = 64;
  static constexpr std::size_t kMaxGpuUsers = 16;
};

}  // namespace autopilot
