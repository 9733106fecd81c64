// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/clock.hpp"

namespace autopilot::runtime {

// Those who want to know when an event is durable, and for how long they want to wait. Plain data without
// clock or lock.
class DurableWaiters {
 public:
  using Done = std::function<void(bool durable)>;

  void add(std::uint64_t event, MonoTime patience, Done done);
  // Everything up to that event is durable, or never will be.
  void settle(std::uint64_t event, bool durable);
  // Tells those whose patience is over that it is not durable.
  void give_up(MonoTime now);
  // When the next one loses patience.
  [[nodiscard]] std::optional<MonoTime> next() const;

 private:
  struct Waiter {
    std::uint64_t event = 0;
    MonoTime patience{};
    Done done;
  };
  // A waiter that is told may ask for something new: those told have left the list before.
  void tell(const std::function<bool(const Waiter&)>& concerns, bool durable);

  std::vector<Waiter> waiters_;
};

}  // namespace autopilot::runtime
