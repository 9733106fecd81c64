// SPDX-License-Identifier: Apache-2.0
#include "agent/exporters/write_order.hpp"

#include <algorithm>

namespace autopilot::agent {

WriteOrder::Wanted& WriteOrder::wanted(WriteKind kind, MonoTime now) {
  auto& wanted = wanted_.at(static_cast<std::size_t>(kind));
  if (wanted) return *wanted;
  return wanted.emplace(Wanted{now, now});
}

void WriteOrder::want(WriteKind kind, MonoTime now) {
  static_cast<void>(wanted(kind, now));
}

void WriteOrder::answered(MonoTime now) {
  if (!gone_.empty()) gone_.back() = now;
}

void WriteOrder::failed(WriteKind kind, MonoTime now, MonoTime retry_at) {
  wanted(kind, now).not_before = retry_at;
}

void WriteOrder::forget_old(MonoTime now) {
  while (!gone_.empty() && gone_.front() + kWindow <= now)
    gone_.pop_front();
}

std::optional<WriteKind> WriteOrder::take(MonoTime now) {
  forget_old(now);
  if (gone_.size() >= kMaxWrites) return std::nullopt;
  std::optional<std::size_t> first;
  MonoTime since{};
  for (std::size_t kind = 0; kind < wanted_.size(); ++kind) {
    const auto& wanted = wanted_.at(kind);
    if (!wanted || wanted->not_before > now || (first && wanted->since >= since)) continue;
    first = kind;
    since = wanted->since;
  }
  if (!first) return std::nullopt;
  wanted_.at(*first).reset();
  gone_.push_back(now);
  return static_cast<WriteKind>(*first);
}

std::optional<MonoTime> WriteOrder::next() const {
  std::optional<MonoTime> soonest;
  for (const auto& wanted : wanted_)
    if (wanted) soonest = std::min(soonest.value_or(wanted->not_before), wanted->not_before);
  if (!soonest) return std::nullopt;
  if (gone_.size() >= kMaxWrites) soonest = std::max(*soonest, gone_.front() + kWindow);
  return soonest;
}

}  // namespace autopilot::agent
