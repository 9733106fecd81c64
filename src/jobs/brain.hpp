// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "jobs/afterwards.hpp"
#include "jobs/decision/alert.hpp"
#include "jobs/decision/decide.hpp"
#include "jobs/decision/failure.hpp"
#include "jobs/decision/guard_rails.hpp"
#include "jobs/engine.hpp"
#include "jobs/findings.hpp"
#include "jobs/records.hpp"

namespace autopilot::jobs {

struct BrainOptions {
  EngineOptions engine;
  Policy policy{.mode = Mode::observe};
  GuardLimits guard_limits;
  AlertLimits alert_limits;
  std::size_t cluster_nodes = 0;    // for the guard rails; 0: unknown, nothing acts
  std::size_t ended_findings = 32;  // of a job that are remembered
  std::size_t ended_jobs = 256;     // that are remembered, the newest; each for `ended_for`
  Duration ended_for = std::chrono::days(7);
  // A swap at a checkpoint has a second half: an action that moves the pods of the node.
  bool finishes_swaps = false;
};

// What a person states about a finding.
enum class Verdict : std::uint8_t { confirmed, refuted, unclear };

struct Feedback {
  WallTime time{};
  std::string finding;  // id
  Verdict verdict = Verdict::unclear;
  std::string by;    // at most 253 bytes
  std::string note;  // at most 1 KiB
};

// A person knows of a finding: no more messages about it, except its end.
struct Acknowledgement {
  WallTime time{};
  std::string finding;  // id
  std::string by;       // at most 253 bytes
};

enum class ActionPart : std::uint8_t {
  whole,             // or the first half of a swap, which holds the node
  after_checkpoint,  // the second half of a swap: the pods of the node move
  given_up,          // the second half of a swap is not due any more
};

// An action that was carried out.
struct DoneAction {
  WallTime time{};
  std::string finding;  // id
  Choice choice = Choice::keep_running;
  Entity culprit;
  std::string cause;
  ActionPart part = ActionPart::whole;
  bool is_settled = false;  // a checkpoint ended after it, or the job: it counts no longer for the job
  bool waits = false;       // a swap whose second half is due
  friend bool operator==(const DoneAction&, const DoneAction&) = default;
};

// All that is known of one job.
struct JobReport {
  JobState state;
  std::string owner;  // kind, namespace and name of the object that created the pods; or empty
  JobKind kind = JobKind::training;
  std::vector<std::string> nodes;  // each once
  WallTime started{};
  std::optional<WallTime> ended;
  std::optional<Outcome> outcome;
  std::optional<Failure> failure;             // of the last attempt that ended with an error
  std::vector<JobFinding> findings;           // open ones, the worst first; then ended ones, the newest first
  std::vector<Feedback> feedback;             // the newest last, at most kMaxFeedback
  std::vector<Acknowledgement> acknowledged;  // of findings that are open
  static constexpr std::size_t kMaxFeedback = 64;
  bool is_muted = false;
  std::optional<WallTime> muted_until;
  std::map<std::string, SentAlert, std::less<>> sent;  // the last messages about its findings, by their id
  std::vector<DoneAction> done;                        // of the last day, the newest last, at most kMaxDone
  static constexpr std::size_t kMaxDone = 16;
  std::optional<Afterwards> afterwards;  // of the last attempt; nullopt: no node was validated yet
};

// An action that the decision chose and the guard rails allow. Only in mode `act`.
struct WantedAction {
  JobFinding finding;
  Request request;
  std::string owner;
  ActionPart part = ActionPart::whole;
  std::string why{};  // of a second half: one sentence
};

// The engine with what surrounds it: alerts, guard rails, what people stated. The agent of a single machine
// and the controller of a cluster run it. Pure: no clock, no I/O, no thread. Not thread-safe.
class Brain {
 public:
  explicit Brain(BrainOptions options = {});
  Brain(Brain&&) noexcept;
  Brain& operator=(Brain&&) noexcept;
  ~Brain();

  // What an earlier brain knew: reports, which may lack evidence. Before the first record. Its actions of the
  // last day count for the guard rails, its messages are not sent again, and what people stated holds. Its
  // open findings keep their ids and do not act until records confirm them. A job that no record names within
  // kAbsent has ended.
  void restore(std::vector<JobReport> reports, WallTime now);
  static constexpr Duration kAbsent = std::chrono::minutes(15);

  // A validation counts for a job that is remembered and ran on the node in its last attempt, also after its
  // end; the engine does not get it.
  void add(const Record& record);
  void advance(WallTime now);
  void set_nodes(std::size_t cluster_nodes);
  void set_policy(const Policy& policy);
  // As Engine::set_weights.
  void set_weights(SignalWeightsPtr weights);

  // Since the last call.
  [[nodiscard]] std::vector<Alert> take_alerts();
  [[nodiscard]] std::vector<WantedAction> take_actions();
  // Validations that count, at most kMostValidations; more are left out.
  [[nodiscard]] std::vector<ValidationRecord> take_validations();
  static constexpr std::size_t kMostValidations = 16'384;
  // Jobs whose report changed; steps alone do not count.
  [[nodiscard]] std::vector<std::string> take_changed();
  // An action was done: counts for the guard rails.
  void acted(const WantedAction& action, WallTime now);

  [[nodiscard]] std::vector<JobReport> reports() const;  // ordered by name of the job
  // By its key, or by its display name if only one job has it. not_found: the message names a similar job.
  [[nodiscard]] Result<JobReport> report(std::string_view job) const;

  // The job that has this finding, open or ended. not_found: none.
  [[nodiscard]] Result<JobReport> report_with(std::string_view finding) const;

  // not_found: no such finding. malformed: a text is too long.
  [[nodiscard]] Status state_feedback(Feedback feedback);
  [[nodiscard]] Status acknowledge(Acknowledgement acknowledgement);
  // No alerts of the job until then; what is open at that time is sent then. not_found: no such job.
  [[nodiscard]] Status mute(std::string_view job, WallTime until);

  [[nodiscard]] EngineCounts counts() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace autopilot::jobs
