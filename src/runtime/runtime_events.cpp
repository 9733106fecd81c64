// SPDX-License-Identifier: Apache-2.0
#include "runtime/runtime_events.hpp"

namespace autopilot::runtime {

Event kernel_event(const std::string& check, const Observation& record) {
  Event event;
  event.time = record.time.wall;
  event.kind = EventKind::kernel_record;
  event.check = check;
  event.subject = record.subject;
  event.reason = record.name;
  if (const Value* line = find_attribute(record.attributes, "line")) event.message = to_string(*line);
  event.details.reserve(record.attributes.size() + 3);
  event.details = record.attributes;
  if (record.value) event.details.emplace_back("value", *record.value);
  event.details.emplace_back("sequence", static_cast<std::int64_t>(record.sequence.value_or(0)));
  event.details.emplace_back("source", record.source);
  if (const Value* injected = find_attribute(record.attributes, "injected"))
    event.injected = std::get_if<bool>(injected) != nullptr && std::get<bool>(*injected);
  return event;
}

Event further_records_event(const std::string& check, std::size_t count) {
  Event more;
  more.kind = EventKind::kernel_record;
  more.check = check;
  more.reason = "further_records";
  more.message = std::to_string(count) + " further records in the same minute are counted, not listed";
  more.details.emplace_back("count", static_cast<std::int64_t>(count));
  return more;
}

Event records_lost_event(std::uint64_t count) {
  Event lost;
  lost.kind = EventKind::records_lost;
  lost.message =
      std::to_string(count) +
      " kernel log records were overwritten before they were read, or dropped before every check had them";
  lost.details.emplace_back("lost", static_cast<std::int64_t>(count));
  return lost;
}

Event memory_loss_event(EventKind kind, const Finding& finding) {
  Event event;
  event.kind = kind;
  event.subject = finding.subject;
  event.health = finding.health;
  event.reason = finding.reason;
  event.message = finding.message;
  return event;
}

Event acknowledged_event(const Incident& incident, const Acknowledgement& acknowledgement, std::int64_t pid) {
  Event event;
  event.time = acknowledgement.at;
  event.kind = EventKind::acknowledged;
  event.check = incident.check;
  event.subject = incident.blamed;
  event.health = incident.health;
  event.reason = incident.reason;
  event.message = "acknowledged by " + acknowledgement.by + ": " + acknowledgement.reason;
  event.injected = incident.injected;
  event.details = {
      {"incident", incident.id}, {"by", acknowledgement.by}, {"pid", pid}, {"why", acknowledgement.reason}};
  return event;
}

}  // namespace autopilot::runtime
