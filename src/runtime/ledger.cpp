// SPDX-License-Identifier: Apache-2.0
#include "runtime/ledger.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "incidents/verdict.hpp"

namespace autopilot::runtime {

void DurableWaiters::add(std::uint64_t batch, MonoTime limit, Done done) {
  waiters_.push_back({batch, limit, std::move(done)});
}

void DurableWaiters::settle(std::uint64_t batch, bool durable) {
  notify([batch](const Waiter& waiter) { return waiter.batch <= batch; }, durable);
}

void DurableWaiters::give_up(MonoTime now) {
  notify([now](const Waiter& waiter) { return waiter.limit <= now; }, false);
}

std::optional<MonoTime> DurableWaiters::next() const {
  const auto first = std::ranges::min_element(waiters_, {}, &Waiter::limit);
  return first == waiters_.end() ? std::nullopt : std::optional(first->limit);
}

void DurableWaiters::notify(const std::function<bool(const Waiter&)>& concerns, bool durable) {
  std::vector<Done> removed;
  std::erase_if(waiters_, [&](Waiter& waiter) {
    if (!concerns(waiter)) return false;
    removed.push_back(std::move(waiter.done));
    return true;
  });
  for (const Done& done : removed)
    done(durable);
}

std::string LastingFacts::value(std::string_view name) const {
  const auto found = values.find(name);
  return found == values.end() ? "" : found->second;
}

Ledger::Ledger(Origin origin, const Clock& clock, Commit commit, std::shared_ptr<Inbox> inbox)
    : origin_(std::move(origin)), clock_(clock), commit_(std::move(commit)), inbox_(std::move(inbox)) {}

void Ledger::restore(std::uint64_t last_event, std::vector<Event> kept, LastingFacts facts) {
  last_event_ = last_event;
  facts_ = std::move(facts);
  events_.restore(last_event, std::move(kept));
}

void Ledger::use(Commit commit, const std::map<std::string, std::string, std::less<>>& values) {
  commit_ = std::move(commit);
  facts_.values.insert(values.begin(), values.end());
}

std::uint64_t Ledger::tell(Event event) {
  const Instant now = clock_.now();
  if (event.time == WallTime{}) event.time = now.wall;
  event.boot_id = origin_.boot_id;
  event.simulated = origin_.simulated;
  const Event& added = events_.add(std::move(event), now.mono);
  last_event_ = added.id;
  batch_.events.push_back(added);
  return last_event_;
}

void Ledger::add(const std::vector<Incident>& incidents) {
  batch_.incidents.insert(batch_.incidents.end(), incidents.begin(), incidents.end());
}

void Ledger::add(std::string_view name, std::string value) {
  batch_.values.emplace_back(name, value);
  facts_.values.insert_or_assign(std::string(name), std::move(value));
}

void Ledger::add(const std::vector<PassRecord>& records) {
  batch_.pass_records.insert(batch_.pass_records.end(), records.begin(), records.end());
  add_pass_records(facts_.pass_records, records);
}

void Ledger::add_lasting_facts() {
  batch_.values.insert(batch_.values.end(), facts_.values.begin(), facts_.values.end());
  batch_.pass_records.insert(batch_.pass_records.end(), facts_.pass_records.begin(),
                             facts_.pass_records.end());
}

void Ledger::flush() {
  if (!commit_) {
    batch_ = {};
    settle({++flushed_, last_event_, false});
    events_.show_all();
    return;
  }
  const MonoTime now = clock_.now().mono;
  (void)events_.show_overdue(now);
  waiters_.give_up(now);
  if (batch_.empty()) return;
  commit_(std::exchange(batch_, {}),
          [inbox = inbox_, batch = ++flushed_, last_event = last_event_](bool durable) {
            inbox->put(Inbox::Committed{batch, last_event, durable});
          });
}

void Ledger::settle(const Inbox::Committed& committed) {
  if (committed.durable) {
    events_.durable_up_to(committed.last_event);
  } else {
    events_.lost_up_to(committed.last_event);
    missed_ = true;
  }
  waiters_.settle(committed.batch, committed.durable);
}

void Ledger::when_durable(std::function<void(bool)> done) {
  waiters_.add(batch_.empty() ? flushed_ : flushed_ + 1, clock_.now().mono + EventLog::kPatience,
               std::move(done));
}

std::optional<MonoTime> Ledger::next_flush() {
  const auto limit = waiters_.next();
  const auto overdue = events_.show_overdue(clock_.now().mono);
  return limit && overdue ? std::min(*limit, *overdue) : limit ? limit : overdue;
}

MemoryLoss::MemoryLoss(std::string cause, int rounds)
    : cause_(std::move(cause)), rounds_(std::max(1, rounds)) {}

void MemoryLoss::note_run(std::string_view check) {
  if (is_over()) return;
  const auto found = runs_.find(check);
  if (found == runs_.end())
    runs_.emplace(check, 1);
  else if (found->second < rounds_)
    ++found->second;
}

bool MemoryLoss::holds(std::string_view check) const {
  if (is_over()) return false;
  const auto found = runs_.find(check);
  return found == runs_.end() || found->second < rounds_;
}

Finding MemoryLoss::finding() const {
  Finding finding;
  finding.health = Health::unknown;
  finding.reason = incidents::kMemoryLost;
  finding.message = "the stored state of this node may be incomplete: " + cause_;
  return finding;
}

}  // namespace autopilot::runtime
