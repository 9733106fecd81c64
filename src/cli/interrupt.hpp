// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "core/clock.hpp"

namespace autopilot::cli {

// Handles SIGINT and SIGTERM during its lifetime, for an orderly end of a long verb. At most one instance.
class Interrupt {
 public:
  Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  ~Interrupt();

  [[nodiscard]] bool requested() const;
  // Waits for `at_most`. Returns early on a signal, and at once if one came since the previous wait.
  void wait(Duration at_most) const;
  // The same; also returns when `descriptor` can be read, or after another signal with a handler.
  void wait_for_input(Duration at_most, int descriptor) const;
  // Waits until `descriptor` is readable or its other end is closed. False: a signal came first.
  [[nodiscard]] bool wait_readable(int descriptor) const;
  // For loops that poll a flag.
  [[nodiscard]] const std::atomic<bool>& flag() const;
};

}  // namespace autopilot::cli
