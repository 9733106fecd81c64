// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/clock.hpp"
#include "core/event.hpp"
#include "core/finding.hpp"
#include "core/incident.hpp"
#include "runtime/event_log.hpp"
#include "runtime/workers.hpp"
#include "store/journal.hpp"

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

// What the journal holds one of, the newest.
struct LastingFacts {
  std::map<std::string, std::string, std::less<>> values;  // by name
  std::vector<PassRecord> pass_records;                    // by GPU and test

  [[nodiscard]] std::string value(std::string_view name) const;  // empty: there is none
};

// What the runtime tells: gives events their ids, gathers what the next commit writes, and knows what is
// durable. One owner; its clock outlives it.
class Ledger {
 public:
  // Makes the batch durable; `done` must be called, on any thread.
  using Commit = std::function<void(store::Batch batch, std::function<void(bool durable)> done)>;
  struct Origin {
    std::string boot_id;
    bool simulated = false;
  };

  // Without `commit` there is no journal: events are shown at once, as not durable. What was committed comes
  // back through the inbox, to settle().
  Ledger(Origin origin, const Clock& clock, Commit commit, std::shared_ptr<Inbox> inbox);
  // Ids go on after `last_event`; `kept` are earlier events, oldest first. The facts are in the journal.
  void restore(std::uint64_t last_event, std::vector<Event> kept, LastingFacts facts);

  // There is a journal from now on, which held these facts; one that is known here already stays as it is.
  void use(Commit commit, const std::map<std::string, std::string, std::less<>>& values);

  // Gives the event's id; its time is now unless it has one.
  std::uint64_t tell(Event event);
  // What the next flush commits, for others to add to.
  [[nodiscard]] store::Batch& batch() { return batch_; }
  void add(const std::vector<Incident>& incidents);
  // Lasting facts, in place of what is there of the same name, or GPU and test.
  void add(std::string_view name, std::string value);
  void add(const std::vector<PassRecord>& records);
  // All lasting facts again: the journal has lost what it had.
  void add_lasting_facts();
  void flush();
  void settle(const Inbox::Committed& committed);
  // Calls back when all that was told so far is durable, or with false when EventLog::kPatience is over.
  void when_durable(std::function<void(bool durable)> done);
  // Whether a batch was lost since the last call: the whole state must be written again.
  [[nodiscard]] bool take_missed() { return std::exchange(missed_, false); }
  // When flush has something to do without anything new.
  [[nodiscard]] std::optional<MonoTime> next_flush();

  [[nodiscard]] const EventLog& events() const { return events_; }
  [[nodiscard]] EventLog& events() { return events_; }

 private:
  Origin origin_;
  const Clock& clock_;
  Commit commit_;
  std::shared_ptr<Inbox> inbox_;
  EventLog events_;
  DurableWaiters waiters_;
  store::Batch batch_;
  LastingFacts facts_;
  std::uint64_t last_told_ = 0;
  std::uint64_t flushed_ = 0;  // batches
  bool missed_ = false;
};

// The name of the fact that holds why; empty or absent: nothing is lost.
inline constexpr std::string_view kMemoryLossFact = "memory.lost";

// What an earlier run knew may not be all there: what it held is not known to be over before each check has
// looked as often as it takes to find it again. Plain data; one owner.
class MemoryLoss {
 public:
  // cause: empty: nothing is lost. rounds: how often each check has to look, at least once.
  MemoryLoss(std::string cause, int rounds);

  [[nodiscard]] bool is_over() const { return cause_.empty(); }
  [[nodiscard]] const std::string& cause() const { return cause_; }
  // That check has seen all that it should.
  void note_look(std::string_view check);
  // It has not looked often enough since.
  [[nodiscard]] bool holds(std::string_view check) const;
  void end() { cause_.clear(); }
  // About the host, of health unknown.
  [[nodiscard]] Finding finding() const;

 private:
  std::string cause_;
  int rounds_;
  std::map<std::string, int, std::less<>> looks_;
};

}  // namespace autopilot::runtime
