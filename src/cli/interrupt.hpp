// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "core/clock.hpp"

namespace autopilot::cli {

// Takes over SIGINT and SIGTERM while it lives, so that a long verb can end in order. One at a time.
class Interrupt {
 public:
  Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  ~Interrupt();

  [[nodiscard]] bool requested() const;
  // Returns early when interrupted, once for what came since the wait before.
  void wait(Duration at_most) const;
  // For loops of others that look at a flag.
  [[nodiscard]] const std::atomic<bool>& flag() const;
};

}  // namespace autopilot::cli
