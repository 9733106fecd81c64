// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "kube/pacing.hpp"

namespace autopilot::controller {

// Operations that failed, and when each can be tried again: later with every consecutive failure. Pure; on
// one thread.
class Attempts {
 public:
  // The first wait is short: most failures come from a snapshot that is slightly out of date.
  static constexpr kube::BackOffTimes kTimes{.first = std::chrono::seconds{1},
                                             .last = std::chrono::minutes{5}};
  static constexpr std::size_t kMost = 1024;  // beyond, the operations that are due first are removed

  // dice: in [0, 1).
  explicit Attempts(std::function<double()> dice) : dice_(std::move(dice)) {}

  [[nodiscard]] bool may_try(std::string_view what, MonoTime now) const;
  void failed(const std::string& what, MonoTime now, std::optional<Duration> retry_after);
  // True if it had failed before.
  bool succeeded(std::string_view what);
  // When the next waiting operation can be tried; nullopt: none waits.
  [[nodiscard]] std::optional<MonoTime> next(MonoTime now) const;

 private:
  struct Attempt {
    kube::BackOff back_off;
    MonoTime until{};
  };
  std::function<double()> dice_;
  std::map<std::string, Attempt, std::less<>> attempts_;
};

}  // namespace autopilot::controller
