// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace autopilot::collect {

// Follows the step number of one stream. A program can write any number: a number that jumps far ahead or
// falls counts only when the next ones confirm it. Not thread-safe.
class StepGuard {
 public:
  static constexpr std::int64_t kMaxStep = 1'000'000'000'000;
  static constexpr std::int64_t kMaxJump = 1'000'000;
  static constexpr int kConfirmations = 3;  // rising numbers after a fall or a jump, the first included

  enum class Move : std::uint8_t {
    advance,  // the stream got further; so does a first number
    same,     // the number did not change
    restart,  // the stream counts from an earlier or a much later number, confirmed
    ignored,  // not confirmed, or outside 0..kMaxStep
  };
  Move next(std::int64_t step);

  // The last number that counted.
  [[nodiscard]] std::optional<std::int64_t> step() const { return step_; }

 private:
  std::optional<std::int64_t> step_;
  std::optional<std::int64_t> candidate_;
  int confirmed_ = 0;
};

}  // namespace autopilot::collect
