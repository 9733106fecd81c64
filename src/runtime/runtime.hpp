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
#include "runtime/shadow.hpp"
#include "runtime/workers.hpp"
#include "store/journal.hpp"

namespace autopilot::runtime {

// The operator's settings of one check.
struct CheckSettings {
  bool enabled = true;
  std::optional<Duration> period;
  std::optional<Duration> deadline;
  std::optional<Duration> window;

  friend bool operator==(const CheckSettings&, const CheckSettings&) = default;
};

// Settings that may change while the runtime runs.
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
  // By tag: the check that runs at once after a check with that tag failed to run, because it may find the
  // cause.
  std::map<std::string, std::string, std::less<>> follow_up_check;
  // false: a finding is raised at once, unless its reason needs confirmation (a one-shot has no other runs)
  bool has_hysteresis = true;
  Workers::Limits workers;
};

// Thresholds that were learned for machines of this kind.
struct LearnedThresholds {
  LearnedLimits in_use;
  LearnedLimits shadowed;  // tried without effect

  friend bool operator==(const LearnedThresholds&, const LearnedThresholds&) = default;
};

// State from the journal at the start of the agent.
struct Remembered {
  incidents::SavedState state;
  std::vector<store::LastSample> last_samples;
  std::vector<Event> events;
  std::uint64_t last_event_id = 0;
  // By check: kernel records below this position were journaled by an earlier agent of this boot.
  std::map<std::string, std::uint64_t, std::less<>> kernel_log_positions;
  // By check: number of these records that were counted and not reported.
  std::map<std::string, std::uint64_t, std::less<>> kernel_log_unreported;
  LastingFacts facts;
  std::string lost;  // why this may be incomplete; empty if it is complete
};

// Name of the fact with the GPUs that were reset: see ProvenResets.
inline constexpr std::string_view kGpuResets = "gpu.resets";
// "true": an agent started and has not stopped in order; it may have assigned ids to events that are not in
// the journal.
inline constexpr std::string_view kRunIsOpen = "run.open";
// Name of the fact with the number of the next incident.
inline constexpr std::string_view kNextIncident = "incidents.next";

// Callbacks to the owner, on the runtime's thread, except wake.
struct Outlets {
  std::function<void()> wake;                           // from any thread: call poll() soon
  Ledger::Commit commit;                                // not set: there is no journal
  std::function<void(SelfStatus& self)> complete_self;  // adds the status of other parts: helpers, journal
  std::function<void(const std::vector<Incident>&)> on_incidents{};  // that opened, changed or closed
};

// Runs the checks of one machine and maintains its state. One thread drives it by poll(); checks run on
// workers. The host must outlive runs that never return, hence the shared ownership.
class Runtime {
 public:
  Runtime(std::shared_ptr<const host::Host> host, const catalog::Catalog& facts,
          std::span<const checks::Check> checks, RuntimeOptions options, RuntimeSettings settings,
          Outlets outlets, Remembered remembered);
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  ~Runtime();

  // Processes results of workers and journal, abandons runs beyond their deadline, starts due checks, and
  // publishes a new snapshot after a change. Returns the time of the next call, unless a wake comes earlier.
  MonoTime poll();

  // Runs a passive check now; if it is running already, `done` gets the result of that run. If its reason
  // needs confirmation, `done` gets the result of the second run. False: no such check, or it is disabled.
  bool run_now(std::string_view check, std::function<void(const CheckResult&)> done);
  // New kernel records exist: runs the checks that read such records now.
  void kernel_log_grew(LogParts parts);
  void apply(RuntimeSettings settings);
  // From the next run of each check on. The operator's own values come first.
  void use_learned(LearnedThresholds thresholds);
  // Acknowledges an incident and reports it as an event with user, time and reason; `pid` is the caller's.
  // not_found: no open or recovering incident has this id.
  Result<Incident> acknowledge(std::string_view incident, const Acknowledgement& acknowledgement,
                               std::int64_t pid);
  // Users and holders of GPUs from other sources than checks: one observation for each (core/gpu_user.hpp).
  void note_users(const Observations& observations);
  // Adds an event of another part: configuration, injected faults, operations. Returns its id.
  std::uint64_t tell(Event event);
  void remember(const Operation& operation);
  void remember(const std::vector<PassRecord>& records);
  // Stores a fact in the journal; it replaces the fact with that name.
  void remember(std::string_view name, std::string value);
  // Restores state of an earlier agent that was found late: see NodeState::restore.
  void take_over(incidents::SavedState saved);
  // Writes the whole state again, because the journal lacks part of it.
  void journal_all_again();
  // Uses a journal from now on, which holds these facts.
  void use_journal(Ledger::Commit commit, const std::map<std::string, std::string, std::less<>>& values);
  // While the node is reserved for a deep diagnostic its verdict is TESTING.
  void set_reserved_for_deep_test(bool is_reserved);
  void update_self(const std::function<void(SelfStatus&)>& change);

  // Calls `done` once all events so far are durable, or with false after EventLog::kPatience.
  void when_durable(std::function<void(bool durable)> done);

  // Starts no more checks and writes the last samples. The owner then flushes the journal.
  void stop();

  // From any thread.
  [[nodiscard]] SnapshotPtr snapshot() const;
  [[nodiscard]] const EventLog& events() const { return ledger_.events(); }
  [[nodiscard]] EventLog& events() { return ledger_.events(); }
  // On the runtime's thread: state from which another runtime can continue.
  [[nodiscard]] incidents::SavedState saved_state() const { return state_.save(); }
  // On the runtime's thread: how findings would differ with LearnedThresholds::shadowed.
  [[nodiscard]] const ShadowDifferences& shadow_differences() const { return shadow_differences_; }
  [[nodiscard]] const std::vector<CheckInfo>& check_infos() const { return check_infos_; }
  // True if every enabled check has completed once, and no confirmation is pending.
  [[nodiscard]] bool has_run_once() const;

 private:
  // Set by the worker when the run begins; until then the run waits for a worker.
  struct Beginning {
    std::atomic<MonoTime::rep> at{0};
  };
  struct Running {
    Workers::Ticket ticket = 0;
    std::uint64_t run = 0;
    Instant submitted;
    Duration deadline{0};
    std::shared_ptr<Beginning> beginning;

    [[nodiscard]] std::optional<MonoTime> began() const;
    // When the run is abandoned: a while after its deadline, or after waiting too long for a worker.
    [[nodiscard]] MonoTime give_up() const;
    // When to check again. A worker does not report the begin of a run, which may come at any time.
    [[nodiscard]] MonoTime next_deadline_check(MonoTime now) const;
  };
  struct Entry {
    const checks::Check* check = nullptr;
    CheckSettings settings;
    History history;
    CheckResult result;                        // without its observations
    std::shared_ptr<const CheckResult> shown;  // with them
    bool has_observations = false;             // of the last run
    std::optional<Running> running;
    std::optional<Running> stuck;  // abandoned and not returned: the next run would hang as well
    LogReader log;
    bool completed = false;
    bool is_asked_again = false;  // the confirming run has not finished
    std::vector<std::function<void(const CheckResult&)>> waiting;
  };
  void start(std::size_t index, Instant now);
  void take_inbox(Instant now);
  void give_up_overdue(Instant now);
  void complete(std::size_t index, Result<checks::Observed> observed, Instant started, Instant now);
  void run_follow_up(const Entry& silent, Instant started);
  void add_resets_to_histories();
  void note_resets(const std::vector<Subject>& gpus, Instant now);
  Findings take_records(Entry& entry, const checks::Observed& observed, Instant now);
  void read_kernel_log(Entry& entry, const checks::Observed& observed, const Observations& news);
  void show(Entry& entry);
  void take_findings(Entry& entry);
  [[nodiscard]] bool waits_for_memory(const Entry& entry) const;
  void begin_memory_loss();
  void end_memory_loss_when_due();
  void report_counted_records();
  void report_lost_records();
  // Records lost by the log, and dropped by checks beyond the limit of one run.
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
  ProvenResets proven_resets_;
  MemoryLoss loss_;
  std::set<Subject> resets_of_this_run_;  // host_subject() for all GPUs; from any source
  std::uint64_t records_dropped_ = 0;
  std::uint64_t losses_reported_ = 0;
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
  LearnedThresholds learned_;
  ShadowDifferences shadow_differences_;
  Workers workers_;  // last: its threads end before anything they report to
};

}  // namespace autopilot::runtime
