// SPDX-License-Identifier: Apache-2.0
#include "runtime/schedule.hpp"

#include <algorithm>

namespace autopilot::runtime {
namespace {

// splitmix64: spreads neighbouring inputs over the whole range.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31U);
}

}  // namespace

Duration Schedule::varied(std::size_t entry) const {
  const Entry& e = entries_[entry];
  const auto deviation = static_cast<std::int64_t>(mixed(seed_ ^ mixed(entry) ^ e.runs) % 2001) - 1000;
  return e.period + e.period * deviation / 10000;
}

void Schedule::set(std::size_t entry, Duration period, bool enabled, MonoTime now) {
  if (entries_.size() <= entry) entries_.resize(entry + 1);
  Entry& e = entries_[entry];
  const bool was_enabled = e.enabled;
  const bool changed = e.period != period;
  e.period = period;
  e.enabled = enabled;
  if (!was_enabled)
    e.due = now;
  else if (changed)
    e.due = now + varied(entry);
}

void Schedule::trigger(std::size_t entry) {
  entries_.at(entry).triggered = true;
}

void Schedule::trigger_by_news(std::size_t entry) {
  entries_.at(entry).has_news = true;
}

MonoTime Schedule::due_of(const Entry& entry) {
  if (entry.triggered) return MonoTime{};
  if (!entry.has_news) return entry.due;
  return std::min(entry.due, std::max(entry.rested, entry.news_paid - kNewsAtOnce * kNewsSpacing));
}

std::vector<std::size_t> Schedule::take_due(MonoTime now) {
  std::vector<std::size_t> due;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    Entry& e = entries_[i];
    if (!e.enabled || e.running || due_of(e) > now) continue;
    if (!e.triggered && e.runs > 0 && now - e.due > e.period / 2) ++late_;
    if (e.has_news) e.news_paid = std::max(e.news_paid, now) + kNewsSpacing;
    e.running = true;
    e.triggered = false;
    e.has_news = false;
    ++e.runs;
    due.push_back(i);
  }
  return due;
}

void Schedule::finished(std::size_t entry, MonoTime now, Duration rest) {
  Entry& e = entries_.at(entry);
  e.running = false;
  e.rested = now + rest;
  e.due = now + varied(entry);
}

std::optional<MonoTime> Schedule::next() const {
  std::optional<MonoTime> next;
  for (const Entry& e : entries_) {
    if (!e.enabled || e.running) continue;
    if (!next || due_of(e) < *next) next = due_of(e);
  }
  return next;
}

}  // namespace autopilot::runtime
