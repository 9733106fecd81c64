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

// Callers that wait until a batch is durable, each with a time limit. Has no clock and no lock.
class DurableWaiters {
 public:
  using Done = std::function<void(bool durable)>;

  void add(std::uint64_t batch, MonoTime limit, Done done);
  // All batches up to `batch` are durable, or one of them never will be.
  void settle(std::uint64_t batch, bool durable);
  // Calls the waiters whose limit has passed with false.
  void give_up(MonoTime now);
  // The earliest limit.
  [[nodiscard]] std::optional<MonoTime> next() const;

 private:
  struct Waiter {
    std::uint64_t batch = 0;
    MonoTime limit{};
    Done done;
  };
  // Removes the waiters before it calls them: a callback may add a new one.
  void notify(const std::function<bool(const Waiter&)>& concerns, bool durable);

  std::vector<Waiter> waiters_;
};

// Facts of which the journal keeps only the newest.
struct LastingFacts {
  std::map<std::string, std::string, std::less<>> values;  // by name
  std::vector<PassRecord> pass_records;                    // by GPU and test

  [[nodiscard]] std::string value(std::string_view name) const;  // empty if missing
};

// Output of the runtime: assigns ids to events, collects the next commit, and knows what is durable. One
// owner; the clock must outlive it.
class Ledger {
 public:
  // Makes the batch durable; `done` must be called, on any thread.
  using Commit = std::function<void(store::Batch batch, std::function<void(bool durable)> done)>;
  struct Origin {
    std::string boot_id;
    bool simulated = false;
  };

  // Without `commit` there is no journal: events are shown at once, as not durable. Results of commits return
  // through the inbox to settle().
  Ledger(Origin origin, const Clock& clock, Commit commit, std::shared_ptr<Inbox> inbox);
  // Ids continue after `last_event`; `kept` has earlier events, oldest first. The facts are in the journal
  // already.
  void restore(std::uint64_t last_event, std::vector<Event> kept, LastingFacts facts);

  // Uses a journal from now on, which holds these facts. Facts that are already known here take precedence.
  void use(Commit commit, const std::map<std::string, std::string, std::less<>>& values);

  // Returns the event's id. Sets the time to now if it is not set.
  std::uint64_t tell(Event event);
  // The batch that the next flush commits; callers may add to it.
  [[nodiscard]] store::Batch& batch() { return batch_; }
  void add(const std::vector<Incident>& incidents);
  // Lasting facts; they replace facts of the same name, or of the same GPU and test.
  void add(std::string_view name, std::string value);
  void add(const std::vector<PassRecord>& records);
  // Adds all lasting facts again, after the journal lost them.
  void add_lasting_facts();
  void flush();
  void settle(const Inbox::Committed& committed);
  // Calls `done` once all events so far are durable, or with false after EventLog::kPatience.
  void when_durable(std::function<void(bool durable)> done);
  // True if a batch was lost since the last call: the whole state must be written again.
  [[nodiscard]] bool take_missed() { return std::exchange(missed_, false); }
  // Time at which flush has work even without new input.
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
  std::uint64_t last_event_ = 0;
  std::uint64_t flushed_ = 0;  // batches
  bool missed_ = false;
};

// Name of the fact with the cause; empty or missing if nothing is lost.
inline constexpr std::string_view kMemoryLossFact = "memory.lost";

// State after the journal lost data of an earlier run: a fault that it knew is not known to be over until
// each check has run as often as it needs to find it again. Plain data; one owner.
class MemoryLoss {
 public:
  // cause: empty if nothing is lost. rounds: number of runs that each check needs, at least one.
  MemoryLoss(std::string cause, int rounds);

  [[nodiscard]] bool is_over() const { return cause_.empty(); }
  [[nodiscard]] const std::string& cause() const { return cause_; }
  // The check completed a run without unknown findings.
  void note_run(std::string_view check);
  // True if the check has not completed enough runs since.
  [[nodiscard]] bool holds(std::string_view check) const;
  void end() { cause_.clear(); }
  // About the host, of health unknown.
  [[nodiscard]] Finding finding() const;

 private:
  std::string cause_;
  int rounds_;
  std::map<std::string, int, std::less<>> runs_;
};

}  // namespace autopilot::runtime
