// SPDX-License-Identifier: Apache-2.0
#include "runtime/event_log.hpp"

#include <utility>

namespace autopilot::runtime {

void EventLog::restore(std::uint64_t last_id, std::vector<Event> kept) {
  const std::lock_guard lock(mutex_);
  last_id_ = last_id;
  shown_.assign(std::make_move_iterator(kept.begin()), std::make_move_iterator(kept.end()));
  while (shown_.size() > kKept)
    shown_.pop_front();
}

const Event& EventLog::add(Event event, MonoTime now) {
  event.id = ++last_id_;
  waiting_.push_back({std::move(event), now});
  return waiting_.back().event;
}

void EventLog::show_front(bool durable, std::vector<Event>& shown) {
  Event event = std::move(waiting_.front().event);
  waiting_.pop_front();
  event.durable = durable;
  shown.push_back(event);
  const std::lock_guard lock(mutex_);
  shown_.push_back(std::move(event));
  if (shown_.size() > kKept) shown_.pop_front();
}

void EventLog::announce(const std::vector<Event>& shown) const {
  if (listener_ && !shown.empty()) listener_(shown);
}

void EventLog::durable_up_to(std::uint64_t id) {
  std::vector<Event> shown;
  while (!waiting_.empty() && waiting_.front().event.id <= id)
    show_front(true, shown);
  announce(shown);
}

void EventLog::lost_up_to(std::uint64_t id) {
  std::vector<Event> shown;
  while (!waiting_.empty() && waiting_.front().event.id <= id)
    show_front(false, shown);
  announce(shown);
}

void EventLog::show_all() {
  std::vector<Event> shown;
  while (!waiting_.empty())
    show_front(false, shown);
  announce(shown);
}

std::optional<MonoTime> EventLog::show_overdue(MonoTime now) {
  std::vector<Event> shown;
  while (!waiting_.empty() && waiting_.front().since + kPatience <= now)
    show_front(false, shown);
  announce(shown);
  if (waiting_.empty()) return std::nullopt;
  return waiting_.front().since + kPatience;
}

std::vector<Event> EventLog::after(std::uint64_t id) const {
  const std::lock_guard lock(mutex_);
  std::vector<Event> found;
  for (const Event& event : shown_)
    if (event.id > id) found.push_back(event);
  return found;
}

std::uint64_t EventLog::oldest_kept() const {
  const std::lock_guard lock(mutex_);
  return shown_.empty() ? 0 : shown_.front().id;
}

std::uint64_t EventLog::newest_shown() const {
  const std::lock_guard lock(mutex_);
  return shown_.empty() ? 0 : shown_.back().id;
}

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
