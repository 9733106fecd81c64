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

}  // namespace autopilot::runtime
