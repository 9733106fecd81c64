// SPDX-License-Identifier: Apache-2.0
#include "kube/work_queue.hpp"

#include <algorithm>
#include <utility>

#include "core/result.hpp"

namespace autopilot::kube {

WorkQueue::WorkQueue(const WorkQueueLimits& limits, std::function<double()> dice)
    : limits_(limits), dice_(std::move(dice)), bucket_(limits.burst, limits.spacing) {}

bool WorkQueue::add(std::string_view key, MonoTime when) {
  auto found = entries_.find(key);
  if (found == entries_.end()) {
    if (entries_.size() >= limits_.keys) {
      ++refused_;
      return false;
    }
    found = entries_.emplace(std::string(key), Entry{}).first;
  }
  want(found->first, found->second, when);
  return true;
}

void WorkQueue::want(const std::string& key, Entry& entry, MonoTime when) {
  when = std::max(when, entry.rested);
  if (entry.wish && entry.wish->when <= when) return;
  unwant(key, entry);
  entry.wish = Wish{when, turns_++};
  if (!entry.is_worked_on) order_.emplace(entry.wish->when, entry.wish->turn, key);
}

void WorkQueue::unwant(const std::string& key, Entry& entry) {
  if (!entry.wish) return;
  order_.erase({entry.wish->when, entry.wish->turn, key});
  entry.wish.reset();
}

std::optional<std::string> WorkQueue::take(MonoTime now) {
  if (order_.empty() || std::get<MonoTime>(*order_.begin()) > now || !bucket_.take(now)) return std::nullopt;
  std::string key = std::move(std::get<std::string>(order_.extract(order_.begin()).value()));
  Entry& entry = entries_.find(key)->second;
  entry.wish.reset();
  entry.is_worked_on = true;
  return key;
}

std::optional<MonoTime> WorkQueue::next(MonoTime now) const {
  if (order_.empty()) return std::nullopt;
  return std::max(std::get<MonoTime>(*order_.begin()), bucket_.next(now));
}

WorkQueue::Entries::iterator WorkQueue::end_work(std::string_view key) {
  const auto found = entries_.find(key);
  AUTOPILOT_ASSERT(found != entries_.end() && found->second.is_worked_on);
  Entry& entry = found->second;
  entry.is_worked_on = false;
  if (entry.wish) order_.emplace(entry.wish->when, entry.wish->turn, found->first);
  return found;
}

void WorkQueue::done(std::string_view key) {
  const auto found = end_work(key);
  found->second.back_off.reset();
  if (!found->second.wish) entries_.erase(found);
}

void WorkQueue::failed(std::string_view key, MonoTime now, std::optional<Duration> retry_after) {
  const auto found = end_work(key);
  Entry& entry = found->second;
  const MonoTime again = now + entry.back_off.fail(limits_.back_off, dice_(), retry_after);
  if (retry_after) entry.rested = now + std::min(*retry_after, kLongestRetryAfter);
  // A key that was added meanwhile must wait as well.
  const MonoTime wanted = entry.wish ? std::min(entry.wish->when, again) : again;
  unwant(found->first, entry);
  want(found->first, entry, wanted);
}

void WorkQueue::forget(std::string_view key) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return;
  unwant(found->first, found->second);
  found->second.back_off.reset();
  if (!found->second.is_worked_on) entries_.erase(found);
}

std::uint32_t WorkQueue::failures(std::string_view key) const {
  const auto found = entries_.find(key);
  return found == entries_.end() ? 0 : found->second.back_off.failures();
}

}  // namespace autopilot::kube
