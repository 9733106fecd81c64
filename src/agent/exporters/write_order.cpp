// SPDX-License-Identifier: Apache-2.0
#include "agent/exporters/write_order.hpp"

#include <algorithm>

namespace autopilot::agent {

void WriteOrder::want(WriteKind kind, MonoTime now) {
  auto& wanted = wanted_.at(static_cast<std::size_t>(kind));
  if (!wanted) wanted = Wanted{now, now};
}

void WriteOrder::failed(WriteKind kind, MonoTime now, MonoTime retry_at) {
  want(kind, now);
  wanted_.at(static_cast<std::size_t>(kind))->not_before = retry_at;
}

void WriteOrder::forget_old(MonoTime now) {
  while (!gone_.empty() && gone_.front() + kWindow <= now)
    gone_.pop_front();
}

std::optional<WriteKind> WriteOrder::take(MonoTime now) {
  forget_old(now);
  if (gone_.size() >= kMaxWrites) return std::nullopt;
  std::optional<std::size_t> first;
  for (std::size_t kind = 0; kind < wanted_.size(); ++kind) {
    const auto& wanted = wanted_.at(kind);
    if (!wanted || wanted->not_before > now) continue;
    if (!first || wanted->since < wanted_.at(*first)->since) first = kind;
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
