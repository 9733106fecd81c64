// SPDX-License-Identifier: Apache-2.0
#include "kube/write_order.hpp"

#include <algorithm>

namespace autopilot::kube {
namespace {

bool is_acted_on(WriteKind kind) {
  return kind == WriteKind::label || kind == WriteKind::deep_test;
}

}  // namespace

WriteOrder::Wanted& WriteOrder::wanted(WriteKind kind, MonoTime now) {
  auto& wanted = wanted_.at(static_cast<std::size_t>(kind));
  if (wanted) return *wanted;
  return wanted.emplace(Wanted{.since = now, .not_before = now});
}

MonoTime WriteOrder::fewer_than(std::size_t most) const {
  return gone_.size() < most ? MonoTime{} : gone_[gone_.size() - most] + kWindow;
}

MonoTime WriteOrder::allowed(WriteKind kind, const Wanted& wanted) const {
  if (wanted.urgency == WriteUrgency::text)
    return std::max(wanted.not_before, fewer_than(kMaxBeforeOthers + 1));
  MonoTime time = fewer_than(kMaxWrites);
  const bool is_awaited = wanted.urgency == WriteUrgency::awaited;
  const std::size_t most = is_awaited ? kMaxBeforeAwaited : kMaxBeforeOthers;
  if (!is_acted_on(kind)) time = std::max(time, std::min(fewer_than(most + 1), wanted.since + kPatience));
  return std::max(wanted.not_before, time);
}

void WriteOrder::want(WriteKind kind, MonoTime now, WriteUrgency urgency) {
  Wanted& one = wanted(kind, now);
  one.urgency = std::max(one.urgency, urgency);
}

void WriteOrder::not_sent() {
  if (!gone_.empty()) gone_.pop_back();
}

void WriteOrder::answered(MonoTime now) {
  if (!gone_.empty()) gone_.back() = now;
}

void WriteOrder::failed(WriteKind kind, MonoTime now, MonoTime retry_at) {
  Wanted& one = wanted(kind, now);
  one.not_before = retry_at;
  one.urgency = WriteUrgency::state;
}

void WriteOrder::forget_old(MonoTime now) {
  while (!gone_.empty() && gone_.front() + kWindow <= now)
    gone_.pop_front();
}

std::optional<WriteKind> WriteOrder::take(MonoTime now) {
  forget_old(now);
  std::optional<std::size_t> first;
  MonoTime since{};
  for (std::size_t kind = 0; kind < wanted_.size(); ++kind) {
    const auto& wanted = wanted_.at(kind);
    if (!wanted || allowed(static_cast<WriteKind>(kind), *wanted) > now || (first && wanted->since >= since))
      continue;
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
  for (std::size_t kind = 0; kind < wanted_.size(); ++kind) {
    const auto& wanted = wanted_.at(kind);
    if (!wanted) continue;
    const MonoTime time = allowed(static_cast<WriteKind>(kind), *wanted);
    soonest = std::min(soonest.value_or(time), time);
  }
  return soonest;
}

}  // namespace autopilot::kube
