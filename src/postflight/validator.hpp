// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/check_result.hpp"
#include "core/clock.hpp"
#include "core/operation.hpp"
#include "core/result.hpp"
#include "core/snapshot.hpp"
#include "learning/records.hpp"
#include "learning/validation_result.hpp"
#include "postflight/conclusion.hpp"
#include "postflight/ended_job.hpp"
#include "postflight/pair_run.hpp"
#include "postflight/plan.hpp"
#include "postflight/validation_queue.hpp"

namespace autopilot::postflight {

// Owner of the operations of a validation.
inline constexpr std::string_view kValidationOwner = "validation";
// Name of the value of the journal with the jobs whose validation has not ended: parse_open_jobs.
inline constexpr std::string_view kOpenValidations = "validation.open";

struct ValidatorSettings {
  Allowed allowed = Allowed::passive;
  Duration most = std::chrono::minutes{10};  // of all diagnostics of one validation
  Duration retry = std::chrono::minutes{5};  // until diagnostics that yielded are tried again; 0: never
  std::vector<std::string> quick;            // diagnostics that this machine offers
  std::vector<std::string> deep;             // further ones
  std::string pair_check = {};               // the test between nodes that this agent offers; empty: none
};

// What the validator uses of the agent. All are called on the thread of the loop.
struct ValidatorDoors {
  std::function<ValidatorSettings()> settings;
  std::function<SnapshotPtr()> snapshot;
  std::function<std::vector<std::string>()> passive_checks;  // that run on this machine
  // Runs a check anew and calls back with the result, later or from within. False: the check is disabled.
  std::function<bool(const std::string& check, std::function<void(const CheckResult&)> done)> run_check;
  std::function<std::optional<Result<std::string>>()> holder;  // diagnostics::GpuSight
  std::function<std::vector<PassRecord>()> passes;
  // Why the GPUs are to be left to another user now, in a sentence; empty: no reason.
  std::function<std::string()> wanted_by;
  // Starts the diagnostic of these GPUs, or the test of these nodes, at most that long. Its end comes to
  // note().
  std::function<Result<Operation>(const std::string& check, const std::vector<Subject>& subjects,
                                  Duration most)>
      start;
  std::function<void(const std::string& id, const std::string& why)> cancel;
  // Asks what in-flight monitoring knows about the job; `done` is called later, or never. nullopt: it has not
  // evaluated the end yet.
  std::function<void(const std::string& job, std::function<void(std::optional<JobFacts>)> done)> ask;
  std::function<void(std::string value)> remember_open;  // for the journal
  std::function<void(learning::HistoryRecord)> sink;     // history; empty: none
  std::function<void(const learning::ValidationResult&)> on_finished;
};

struct ValidatorCounts {
  std::uint64_t passed = 0, failed = 0, unknown = 0;  // validations that ended, repeated ones each time
  std::uint64_t yielded = 0;                          // diagnostics that ended for another user of the GPUs
  std::uint64_t joined = 0;   // ended jobs beyond kMostQueued or kMostQueuedOfUser: passive checks only
  std::uint64_t dropped = 0;  // ended jobs beyond kMostJoined
  std::uint64_t dropped_retries = 0;  // repetitions beyond kMostRetries, the oldest first
  std::size_t waiting = 0;            // jobs whose validation has not ended, repeats included
};

// Validates this node whenever a job ends. Passive checks run at once; then diagnostics, of one job at a
// time, in the order of ValidationQueue. While too many jobs wait for that, one run of the passive checks
// validates all jobs that end before it begins. A diagnostic yields to the next user of its GPUs. On the
// thread of the loop; driven by poll().
class Validator {
 public:
  static constexpr std::size_t kMostQueued = 32;  // repetitions not counted
  static constexpr std::size_t kMostQueuedOfUser =
      24;  // of these; others find room while one floods the node
  static constexpr std::size_t kMostRetries = ValidationQueue::kMostRetries;
  static constexpr std::size_t kMostJoined = 256;  // that wait for one run of the passive checks
  static constexpr Duration kWarnEvery = std::chrono::minutes{10};  // about dropped jobs
  static constexpr std::size_t kMostRunning = 64;  // jobs whose state before is kept: JobFinder::kMostJobs
  static constexpr std::size_t kKept = 64;         // results; the oldest are removed first
  static constexpr Duration kPassive = std::chrono::seconds{90};  // until a check without an answer is left
  // What explains the end of a job arrives within this time: exit codes, last words, Xids.
  static constexpr Duration kSettle = std::chrono::seconds{20};
  // In-flight monitoring is asked until then.
  static constexpr Duration kMostSettle = std::chrono::seconds{60};
  static constexpr Duration kAskAgain = std::chrono::seconds{5};
  // Longest time of a test between nodes. The other nodes of the job begin their diagnostics after it.
  static constexpr Duration kPairTest = std::chrono::minutes{2};
  static constexpr Duration kWatch =
      std::chrono::milliseconds{500};  // between two reads of the users of the GPUs
  static constexpr int kMostTries = 3;
  static constexpr Duration kRetryWithin = std::chrono::hours{6};  // after the end of the job

  // `clock` outlives it.
  Validator(std::string node, const Clock& clock, ValidatorDoors doors);
  Validator(const Validator&) = delete;
  Validator& operator=(const Validator&) = delete;
  ~Validator() = default;

  // Records the jobs whose validation an agent left that was killed. Once, before everything else.
  void restore(std::string_view open_jobs);
  // A job runs on this node from now on: its state before is the state now.
  void begin_job(const std::string& job);
  void end_job(EndedJob job);
  // Takes an operation that began or ended.
  void note(const Operation& operation);

  // Does what is due. Returns when to call again, unless something is called before.
  MonoTime poll();
  // Ends the running diagnostic. What has not ended remains in the journal.
  void stop();

  [[nodiscard]] std::vector<learning::ValidationResult> results() const;  // newest first
  [[nodiscard]] ValidatorCounts counts() const;

 private:
  using Work = ValidationWork;
  // The diagnostics of one of them.
  struct Run {
    Work work;
    bool has_plan = false;
    Plan plan;
    std::size_t next = 0;  // of plan.diagnostics
    MonoTime deadline{};
    std::string operation;            // that runs; empty: none
    std::optional<MonoTime> judging;  // since when a check judges a diagnostic
    std::vector<CheckResult> measured;
    std::vector<MissingResult> missing;
    std::optional<PairRun> pair;    // the test between nodes, once it has begun
    bool is_testing_pairs = false;  // it runs, or its check judges it
    std::string stopped;
    bool has_yielded = false;
  };

  // Ended jobs that one run of the passive checks validates.
  struct Shared {
    Work work;  // of the passive checks; has no job
    std::vector<Work> ends;
  };

  [[nodiscard]] Work* find_work(std::uint64_t number);
  [[nodiscard]] bool has_room_for(const EndedJob& job) const;
  void join(Work work);
  void begin_shared(Instant now);
  void finish_shared(Instant now);
  void conclude_joined(Work end, const Work& passive, Instant now);
  void note_dropped(const std::string& job);
  void begin_passive(Work& work, Instant now);
  void take_passive(std::uint64_t number, const CheckResult& result);
  void begin_due(Instant now);
  void ask_due(MonoTime now);
  void ask_about(Work& work, MonoTime now);
  [[nodiscard]] bool is_ready(const Work& work, MonoTime now) const;
  void begin_next(MonoTime now);
  void advance(Instant now);
  void look(MonoTime now);
  void take_look(const CheckResult& look);
  [[nodiscard]] std::string busy_gpus(const std::vector<Subject>& gpus) const;
  void make_plan(MonoTime now);
  void start_next(Instant now);
  void start_pair_test(Duration left);
  void take_pairs(const Operation& operation);
  void judge(const Operation& operation);
  void yield(const std::string& why);
  void finish(Instant now);
  [[nodiscard]] bool may_retry(const Work& work, const learning::ValidationResult& result, Instant now) const;
  void retry(Work work, Instant now);
  void keep(learning::ValidationResult result);
  void write(learning::HistoryRecord record);
  void journal();
  [[nodiscard]] std::optional<Duration> last_pass(const std::vector<Subject>& gpus,
                                                  const std::vector<std::string>& checks) const;

  const std::string node_;
  const Clock& clock_;
  const ValidatorDoors doors_;
  std::map<std::string, CheckResults> running_;  // state before, by job
  ValidationQueue queue_;
  std::vector<Work> joined_;          // ends that wait for the next shared run
  std::unique_ptr<Shared> shared_;    // null: none
  std::unique_ptr<Run> run_;          // null: none
  std::optional<CheckResult> users_;  // of gpu.processes
  bool is_looking_ = false;
  MonoTime next_look_{};
  std::deque<learning::ValidationResult> results_;  // oldest first
  ValidatorCounts counts_;
  std::uint64_t next_number_ = 1;
  std::string journaled_;
  std::optional<MonoTime> warned_;  // about dropped jobs
  bool stopping_ = false;
};

}  // namespace autopilot::postflight
