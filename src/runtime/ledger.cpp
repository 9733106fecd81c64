// SPDX-License-Identifier: Apache-2.0
#include "runtime/ledger.hpp"

#include <algorithm>
#include <iterator>

namespace autopilot::runtime {

Ledger::Ledger(Origin origin, const Clock& clock, Commit commit, std::shared_ptr<Inbox> inbox)
    : origin_(std::move(origin)), clock_(clock), commit_(std::move(commit)), inbox_(std::move(inbox)) {}

void Ledger::restore(std::uint64_t last_event, std::vector<Event> kept) {
  last_told_ = last_event;
  events_.restore(last_event, std::move(kept));
}

std::uint64_t Ledger::tell(Event event) {
  const Instant now = clock_.now();
  if (event.time == WallTime{}) event.time = now.wall;
  event.boot_id = origin_.boot_id;
  event.simulated = origin_.simulated;
  const Event& told = events_.add(std::move(event), now.mono);
  last_told_ = told.id;
  batch_.events.push_back(told);
  return last_told_;
}

void Ledger::add(const std::vector<Incident>& incidents) {
  batch_.incidents.insert(batch_.incidents.end(), incidents.begin(), incidents.end());
}

void Ledger::add(std::vector<store::RollUp> roll_ups) {
  std::ranges::move(roll_ups, std::back_inserter(batch_.roll_ups));
}

void Ledger::flush() {
  if (!commit_) {
    batch_ = {};
    settle(last_told_, false);
    events_.show_all();
    return;
  }
  const MonoTime now = clock_.now().mono;
  (void)events_.show_overdue(now);
  waiters_.give_up(now);
  if (batch_.empty()) return;
  commit_(std::exchange(batch_, {}), [inbox = inbox_, last_event = last_told_](bool durable) {
    inbox->put(Inbox::Committed{last_event, durable});
  });
}

void Ledger::settle(std::uint64_t last_event, bool durable) {
  if (durable)
    events_.durable_up_to(last_event);
  else
    missed_ = true;
  waiters_.settle(last_event, durable);
}

void Ledger::when_durable(std::function<void(bool)> done) {
  waiters_.add(last_told_, clock_.now().mono + EventLog::kPatience, std::move(done));
}

std::optional<MonoTime> Ledger::next_flush() {
  const auto patience = waiters_.next();
  const auto overdue = events_.show_overdue(clock_.now().mono);
  return patience && overdue ? std::min(*patience, *overdue) : patience ? patience : overdue;
}

}  // namespace autopilot::runtime
