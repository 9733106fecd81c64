// SPDX-License-Identifier: Apache-2.0
#include "runtime/durable_waiters.hpp"

#include <algorithm>
#include <utility>

namespace autopilot::runtime {

void DurableWaiters::add(std::uint64_t batch, MonoTime patience, Done done) {
  waiters_.push_back({batch, patience, std::move(done)});
}

void DurableWaiters::settle(std::uint64_t batch, bool durable) {
  tell([batch](const Waiter& waiter) { return waiter.batch <= batch; }, durable);
}

void DurableWaiters::give_up(MonoTime now) {
  tell([now](const Waiter& waiter) { return waiter.patience <= now; }, false);
}

std::optional<MonoTime> DurableWaiters::next() const {
  const auto first = std::ranges::min_element(waiters_, {}, &Waiter::patience);
  return first == waiters_.end() ? std::nullopt : std::optional(first->patience);
}

void DurableWaiters::tell(const std::function<bool(const Waiter&)>& concerns, bool durable) {
  std::vector<Done> told;
  std::erase_if(waiters_, [&](Waiter& waiter) {
    if (!concerns(waiter)) return false;
    told.push_back(std::move(waiter.done));
    return true;
  });
  for (const Done& done : told)
    done(durable);
}

}  // namespace autopilot::runtime
