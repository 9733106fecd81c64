// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/clock.hpp"

namespace autopilot::runtime {

// Those who want to know when a batch is durable, and for how long they want to wait. Plain data without
// clock or lock.
class DurableWaiters {
 public:
  using Done = std::function<void(bool durable)>;

  void add(std::uint64_t batch, MonoTime patience, Done done);
  // Everything up to that batch is durable, or one of them never will be.
  void settle(std::uint64_t batch, bool durable);
  // Tells those whose patience is over that it is not durable.
  void give_up(MonoTime now);
  // When the next one loses patience.
  [[nodiscard]] std::optional<MonoTime> next() const;

 private:
  struct Waiter {
    std::uint64_t batch = 0;
    MonoTime patience{};
    Done done;
  };
  // A waiter that is told may ask for something new: those told have left the list before.
  void tell(const std::function<bool(const Waiter&)>& concerns, bool durable);

  std::vector<Waiter> waiters_;
};

}  // namespace autopilot::runtime
