// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/finding.hpp"

namespace autopilot {

enum class EventKind : std::uint8_t {
  agent_started,
  agent_stopped,
  finding_raised,
  finding_changed,
  finding_cleared,
  incident_opened,
  incident_changed,
  incident_closed,
  operation_started,
  operation_finished,
  kernel_record,
  records_lost,
  configuration_loaded,
  configuration_refused,
  fault_injected,
  acknowledged,
  journal_moved_aside,
  validation_finished,
};

[[nodiscard]] std::string_view to_string(EventKind kind);
[[nodiscard]] std::optional<EventKind> parse_event_kind(std::string_view word);

// One record of the node's history. Journaled, streamed, shown by `autopilot events`.
struct Event {
  std::uint64_t id = 0;  // increases by one, also over restarts; the runtime sets it before the journal
                         // stores the event; 0: not set
  WallTime time{};
  std::string boot_id;
  EventKind kind = EventKind::agent_started;
  std::string check;  // empty if no check is involved
  Subject subject;
  Health health = Health::healthy;
  std::string reason;
  std::string message;
  Attributes details;
  bool injected = false;
  bool simulated = false;
  bool durable =
      true;  // false: shown although the journal did not answer in time; can be lost when the process ends
};

}  // namespace autopilot
