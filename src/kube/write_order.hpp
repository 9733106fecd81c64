// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "core/clock.hpp"

namespace autopilot::kube {

// Writes of an agent to the cluster that no request causes. If two became wanted at the same time, the kind
// that is listed first goes first.
enum class WriteKind : std::uint8_t { label, conditions, report, event, pvc_test, deep_test };
inline constexpr std::size_t kWriteKinds = 6;

// text: only people read it. It waits, without limit, until at most kMaxBeforeOthers writes of the minute
// went: the others may be needed for what schedulers act on. awaited: a caller waits for a test; such writes
// leave one of the minute.
enum class WriteUrgency : std::uint8_t { text, state, awaited };

// Which write goes next, and when: at once while few went, else as soon as fewer than kMaxWrites went within
// kWindow; the write that has waited longest goes first. The last three of a minute are reserved for what
// schedulers act on, the label and the steps of a deep diagnostic (its Job, its release, and the label after
// it): other kinds go only while at most kMaxBeforeOthers went (kMaxBeforeAwaited if a caller waits), or
// after they waited for kPatience, so that none starves; texts wait longer. A kind that is wanted again
// before it went goes once, with the state at that time. Pure.
class WriteOrder {
 public:
  static constexpr std::size_t kMaxWrites = 6;
  static constexpr std::size_t kMaxBeforeOthers = 2;  // writes of other kinds are the third of a minute
  static constexpr std::size_t kMaxBeforeAwaited = 4;
  static constexpr Duration kWindow = std::chrono::minutes{1};
  static constexpr Duration kPatience = kWindow / 2;

  void want(WriteKind kind, MonoTime now, WriteUrgency urgency = WriteUrgency::state);
  // A kind that may go now, which counts as gone; std::nullopt: none.
  [[nodiscard]] std::optional<WriteKind> take(MonoTime now);
  // The kind of the last take() had nothing to send, and does not count.
  void not_sent();
  // The server answered the write of the last take(). Its minute begins now: the server may have counted it
  // only now.
  void answered(MonoTime now);
  // A write failed; the kind is wanted again, from `retry_at` on.
  void failed(WriteKind kind, MonoTime now, MonoTime retry_at);
  // Time at which take() returns a kind; std::nullopt: none is wanted.
  [[nodiscard]] std::optional<MonoTime> next() const;

 private:
  struct Wanted {
    MonoTime since{};
    MonoTime not_before{};
    WriteUrgency urgency = WriteUrgency::text;  // the greater of those it was wanted with
  };

  Wanted& wanted(WriteKind kind, MonoTime now);
  // When the budget lets it go; the minute of a write that went may be over.
  [[nodiscard]] MonoTime allowed(WriteKind kind, const Wanted& wanted) const;
  // When fewer than `most` will have gone within the minute.
  [[nodiscard]] MonoTime fewer_than(std::size_t most) const;
  void forget_old(MonoTime now);

  std::array<std::optional<Wanted>, kWriteKinds> wanted_;
  std::deque<MonoTime> gone_;  // at most kMaxWrites
};

}  // namespace autopilot::kube
