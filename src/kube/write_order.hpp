// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "core/clock.hpp"

namespace autopilot::kube {

// What an agent writes to the cluster of its own accord. Of those that became wanted at the same time the
// first goes first.
enum class WriteKind : std::uint8_t { label, conditions, report, event, pvc_test, deep_test };
inline constexpr std::size_t kWriteKinds = 6;

// Texts for people alone wait until at most kMaxBeforeOthers writes of the minute went, for as long as that
// takes: the others may be needed for what schedulers act on. A test that somebody waits for leaves one.
enum class WriteUrgency : std::uint8_t { text, state, awaited };

// Which write goes next, and when: at once while few went, else as soon as fewer than kMaxWrites went within
// kWindow; the one that is wanted longest first. The last three of a minute are kept for what schedulers act
// on, the label and the steps of a deep test (its Job, its release, and the label after it): others go only
// while at most kMaxBeforeOthers went (kMaxBeforeAwaited where somebody waits for it), or once they waited
// for kPatience, so that none starves. A kind that
// is wanted again before it went goes once, with what is true then. Pure.
class WriteOrder {
 public:
  static constexpr std::size_t kMaxWrites = 6;
  static constexpr std::size_t kMaxBeforeOthers = 2;  // what no scheduler acts on: the third of its minute
  static constexpr std::size_t kMaxBeforeAwaited = 4;
  static constexpr Duration kWindow = std::chrono::minutes{1};
  static constexpr Duration kPatience = kWindow / 2;

  void want(WriteKind kind, MonoTime now, WriteUrgency urgency = WriteUrgency::state);
  // One that may go now; it counts as gone.
  [[nodiscard]] std::optional<WriteKind> take(MonoTime now);
  // What take() gave last had nothing to send after all: it did not go.
  void not_sent();
  // The one that went last was answered: the minute is that of the server, which may have seen it only now.
  void answered(MonoTime now);
  // It did not arrive, and is wanted again, from `retry_at` on.
  void failed(WriteKind kind, MonoTime now, MonoTime retry_at);
  // When take() will give one; nothing while none is wanted.
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
