// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checks/check.hpp"
#include "core/snapshot.hpp"
#include "host/host.hpp"
#include "incidents/node_state.hpp"
#include "runtime/ledger.hpp"
#include "runtime/log_reader.hpp"
#include "runtime/schedule.hpp"
#include "runtime/workers.hpp"
#include "store/journal.hpp"

namespace autopilot::runtime {

// What the operator changed about one check.
struct CheckSettings {
  bool enabled = true;
  std::optional<Duration> period;
  std::optional<Duration> deadline;
  std::optional<Duration> window;

  friend bool operator==(const CheckSettings&, const CheckSettings&) = default;
};

// May change while running.
struct RuntimeSettings {
  std::map<std::string, CheckSettings, std::less<>> checks;
  Expectation expectation;  // with the required checks of the profile resolved for this machine
};

struct RuntimeOptions {
  std::string node;
  std::string boot_id;
  std::string profile;
  bool simulated = false;
  bool has_accelerator = false;
  // By tag: the check that looks at once when one with that tag could not look, and may know why.
  std::map<std::string, std::string, std::less<>> knows_why;
  // false: a finding counts at once, except where its reason asks again (a one-shot look has no other rounds)
  bool has_hysteresis = true;
  Lanes::Limits lanes;
};

// What the journal knew when the agent started.
struct Remembered {
  incidents::SavedState state;
  std::vector<store::LastSample> last_samples;
  std::vector<Event> events;
  std::uint64_t last_event_id = 0;
  // By check: kernel records below were journaled by an earlier run of this boot.
  std::map<std::string, std::uint64_t, std::less<>> kernel_log_positions;
  // By check: how many of these were counted and not told.
  std::map<std::string, std::uint64_t, std::less<>> kernel_log_untold;
  LastingFacts facts;
  std::string lost;  // why this may not be all that an earlier run knew; empty: it is
};

// The name of the fact that holds which GPUs were reset: see SeenResets.
inline constexpr std::string_view kGpuResets = "gpu.resets";
// "true": a run began and has not ended in order; it may have given ids of events that are not in the
// journal.
inline constexpr std::string_view kRunIsOpen = "run.open";
// And the number of the next incident.
inline constexpr std::string_view kNextIncident = "incidents.next";

// To the outside. Called on the runtime's thread, except wake.
struct Outlets {
  std::function<void()> wake;                           // from any thread: call poll() soon
  Ledger::Commit commit;                                // none: no journal is kept
  std::function<void(SelfStatus& self)> complete_self;  // fills in what others know: helpers, journal
};

// Runs the checks of one machine and keeps the picture of it. Driven from one thread by poll(); looks run on
// lanes. The host must outlive looks that never return, hence shared ownership.
class Runtime {
 public:
  Runtime(std::shared_ptr<const host::Host> host, const catalog::Catalog& facts,
          std::span<const checks::Check> checks, RuntimeOptions options, RuntimeSettings settings,
          Outlets outlets, Remembered remembered);
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  ~Runtime();

  // Takes in what lanes and journal finished, gives up what is past its deadline, starts what is due,
  // publishes a new snapshot when something changed. Gives the time of the next call if nothing wakes
  // earlier.
  MonoTime poll();

  // One run of a passive check, now; asked while it runs, the answer of that run. Where its reason asks
  // again, the answer of the second run. False: no such check, or disabled.
  bool run_now(std::string_view check, std::function<void(const CheckResult&)> done);
  // New kernel records: the checks that read such look at once.
  void kernel_log_grew(LogParts parts);
  void apply(RuntimeSettings settings);
  // Told as an event with who, when and why; `pid` of who asked. not_found when no open or recovering
  // incident has that id.
  Result<Incident> acknowledge(std::string_view incident, const Acknowledgement& acknowledgement,
                               std::int64_t pid);
  // Who uses or holds GPUs, as others than checks know it: one observation for each (core/workload.hpp).
  void note_users(const Observations& observations);
  // For what others have to tell: configuration, injected faults, operations. Gives the event's id.
  std::uint64_t tell(Event event);
  void remember(const Operation& operation);
  void remember(const std::vector<PassRecord>& records);
  // For the journal, in place of what has that name.
  void remember(std::string_view name, std::string value);
  // What an earlier run left, found late: see NodeState::restore.
  void take_over(incidents::SavedState saved);
  // The journal lacks something of what is known here: all of it is written again.
  void journal_all_again();
  // There is a journal from now on, which held facts of these names and values.
  void use_journal(Ledger::Commit commit, const std::map<std::string, std::string, std::less<>>& values);
  // The node is kept for a deep test: its verdict is TESTING until it no longer is.
  void set_reserved_for_deep_test(bool is_reserved);
  void update_self(const std::function<void(SelfStatus&)>& change);

  // Calls back when all that was told so far is durable, or with false when EventLog::kPatience is over.
  void when_durable(std::function<void(bool durable)> done);

  // Starts no further check and writes the last samples. The owner then flushes the journal.
  void stop();

  // From any thread.
  [[nodiscard]] SnapshotPtr snapshot() const;
  [[nodiscard]] const EventLog& events() const { return ledger_.events(); }
  [[nodiscard]] EventLog& events() { return ledger_.events(); }
  // On the runtime's thread: what another run can go on with.
  [[nodiscard]] incidents::SavedState saved_state() const { return state_.save(); }
  [[nodiscard]] const std::vector<CheckInfo>& check_infos() const { return check_infos_; }
  // Every enabled check has completed once, and no second look is under way.
  [[nodiscard]] bool has_looked_once() const;

 private:
  // Set by the lane when the look begins; until then it waits for a lane.
  struct Beginning {
    std::atomic<MonoTime::rep> at{0};
  };
  struct Running {
    Lanes::Ticket ticket = 0;
    std::uint64_t run = 0;
    Instant submitted;
    Duration deadline{0};
    std::shared_ptr<Beginning> beginning;

    [[nodiscard]] std::optional<MonoTime> began() const;
    // When its owner stops waiting: a while after its deadline, or after waiting for a lane for too long.
    [[nodiscard]] MonoTime give_up() const;
    // When to see whether it is that far. A lane tells nobody that it begins, and may do so any moment.
    [[nodiscard]] MonoTime worth_a_look(MonoTime now) const;
  };
  struct Entry {
    const checks::Check* check = nullptr;
    CheckSettings settings;
    History history;
    CheckResult result;                        // without its observations
    std::shared_ptr<const CheckResult> shown;  // with them
    bool looked = false;
    std::optional<Running> running;
    std::optional<Running> stuck;  // given up and not back yet: the next look would hang as well
    LogReader log;
    bool completed = false;
    bool is_asked_again = false;  // the second look has not finished
    std::vector<std::function<void(const CheckResult&)>> waiting;
  };
  void start(std::size_t index, Instant now);
  void take_inbox(Instant now);
  void give_up_overdue(Instant now);
  void complete(std::size_t index, Result<checks::Observed> observed, Instant started, Instant now);
  void ask_why(const Entry& silent, Instant started);
  void tell_judges_of_resets();
  void note_resets(const std::vector<Subject>& gpus, Instant now);
  void read_kernel_log(Entry& entry, const checks::Observed& observed, const Observations& news);
  void show(Entry& entry);
  void take_findings(Entry& entry);
  [[nodiscard]] bool waits_for_memory(const Entry& entry) const;
  void begin_memory_loss();
  void end_memory_loss_when_due();
  void tell_untold_records();
  void tell_lost_records();
  // By the log, and by checks that found more than a round may tell.
  [[nodiscard]] host::RecordLosses record_losses() const;
  [[nodiscard]] bool has_new_counts() const;
  void journal_counts();
  void apply_changes(const incidents::Changes& changes, Instant now);
  void show_findings();
  [[nodiscard]] incidents::SavedState of_these_checks(incidents::SavedState saved) const;
  void note_periodic(Instant now);
  void add_last_samples();
  void flush(Instant now);
  void publish(Instant now);
  [[nodiscard]] Duration period_of(const Entry& entry) const;
  [[nodiscard]] Duration window_of(const Entry& entry) const;
  [[nodiscard]] Duration deadline_of(const Entry& entry) const;
  [[nodiscard]] MonoTime next_poll(Instant now);

  std::shared_ptr<const host::Host> host_;
  const catalog::Catalog& facts_;
  RuntimeOptions options_;
  RuntimeSettings settings_;
  Outlets outlets_;
  std::vector<Entry> entries_;
  std::vector<CheckInfo> check_infos_;
  Schedule schedule_;
  incidents::NodeState state_;
  RecordCounts record_counts_;
  SeenResets seen_resets_;
  MemoryLoss loss_;
  std::set<Subject> resets_of_this_run_;  // the host for all of its GPUs; whoever told them
  std::uint64_t records_dropped_ = 0;
  std::uint64_t losses_told_ = 0;
  SelfStatus self_;
  MonoTime next_minute_{};
  MonoTime next_counts_{};
  MonoTime next_loss_{};
  bool findings_changed_ = false;
  bool changed_ = true;
  bool is_reserved_for_deep_test_ = false;
  bool stopping_ = false;
  std::uint64_t generation_ = 0;
  std::uint64_t next_run_ = 1;
  std::shared_ptr<Inbox> inbox_;
  Ledger ledger_;
  mutable std::mutex snapshot_mutex_;
  SnapshotPtr snapshot_;
  Lanes lanes_;  // last: its threads end before anything they report to
};

}  // namespace autopilot::runtime
