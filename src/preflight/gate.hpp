// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "api/preflight.hpp"
#include "config/config.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "diagnostics/operations/operations.hpp"
#include "diagnostics/operations/pass_book.hpp"
#include "kube/health_reports.hpp"
#include "net/event_loop.hpp"
#include "preflight/decision.hpp"
#include "preflight/gang_wait.hpp"
#include "preflight/gate_stats.hpp"
#include "preflight/pod_callers.hpp"
#include "preflight/test_choice.hpp"

namespace autopilot::preflight {

// Inputs of the gate. Its functions are called on the event loop's thread.
struct GateMachine {
  std::string node;
  const Clock& clock;
  const diagnostics::PassBook& passes;
  std::function<SnapshotPtr()> snapshot;
  std::function<std::vector<OfferedTest>()> offered;
  // Starts a run of gpu.processes and calls back with its result; false: the check is disabled.
  std::function<bool(std::function<void(const CheckResult& look)> done)> look;
  std::function<Result<Operation>(const diagnostics::OperationStart& wanted)> start;
  std::function<Result<Operation>(const std::string& id)> find;
  std::function<std::optional<std::int64_t>()> allocatable;  // see GpuView
  std::function<bool()> is_on_probation;
  std::function<std::string()> why_evicted;  // see GateWorld
  std::function<config::Preflight()> settings;
  incidents::ReasonLookup reasons;
  std::string issuer;  // of reports
  // Writes a report and calls back, never from within the call. Empty: there is no cluster.
  std::function<void(kube::HealthCheckReport report, std::function<void(const Status& written)> done)> report;
  // Asks whether the other pods of a job have passed, and for their nodes. Empty: not known, so the gate does
  // not wait for them.
  GangWait::Ask gang = {};
  // Chooses the tests of a pod that names none, if the operator wants it. Empty: all run.
  ChooseTests choose = {};
};

// Decides whether a pod may start: runs the missing diagnostics, and writes a report if one failed or could
// not run. Equal requests for the same pod share one question; a question continues after its last listener
// has left. On the event loop's thread.
class PreflightGate {
 public:
  static constexpr std::size_t kMostQuestions = 64;  // beyond: exhausted
  static constexpr std::size_t kMostListeners = 8;   // of one question; likewise
  // Interval of retries for diagnostics that could not begin, and of progress messages.
  static constexpr Duration kTick = std::chrono::milliseconds{500};
  // Longest time that an answer waits for its report to be written.
  static constexpr Duration kReportPatience = std::chrono::seconds{5};

  // Callbacks; never called from within ask().
  struct Listener {
    std::function<void(const api::PreflightProgress& progress)> on_progress;
    std::function<void(const api::PreflightResult& result)> on_result;  // once, as the last call
    bool waits_for_gang = false;  // waits for the other pods of the job, beyond the deadline of the tests
  };

  PreflightGate(net::EventLoop& loop, GateMachine machine);
  PreflightGate(const PreflightGate&) = delete;
  PreflightGate& operator=(const PreflightGate&) = delete;
  ~PreflightGate() = default;

  // pod: not set: all GPUs of the node, without a report. Returns the number of the listener. exhausted:
  // kMostQuestions or kMostListeners is reached.
  [[nodiscard]] Result<std::uint64_t> ask(const std::optional<PodCaller>& pod,
                                          const api::PreflightRequest& request, Listener listener);
  // Removes a listener; its callbacks are not called again.
  void leave(std::uint64_t listener);
  // Takes a new snapshot.
  void note();
  // Takes an operation that has ended, its verdict, and whether both are durable.
  void note(const Operation& operation, const std::optional<JudgedTest>& verdict, bool is_durable);
  [[nodiscard]] GateStats stats() const;
  // The agent ends: listeners get no answer, and ask the next agent.
  void stop() { questions_.clear(); }

 private:
  using Key = std::tuple<std::string, std::vector<std::string>>;  // the pod, its tests in order
  // The wait for the other pods of the job, and the result to send when they have passed.
  struct Gang {
    GateDecision decision;
    api::PreflightResult result;
    MonoTime end{};
    std::unique_ptr<GangWait> wait;
  };
  struct Question {
    PodCaller pod;
    bool has_pod = false;
    std::vector<std::string> wanted;
    bool wants_choice = false;  // of the tests in `wanted`
    bool is_choosing = false;
    std::optional<TestChoice> choice;
    Duration patience{0};
    MonoTime deadline{};
    std::map<std::uint64_t, Listener> listeners;
    bool is_looking = false;
    std::optional<HeldGpus> held;
    std::map<std::string, MadeTest> made;
    std::map<std::string, std::string> waits_for;  // test -> why it could not begin yet
    std::unique_ptr<GangWait> placed;              // until the other pods of its job have a node
    // The nodes for a test between nodes; empty: the nodes whose turn it is.
    std::optional<std::vector<Subject>> peers;
    std::string said;                            // last progress message
    std::optional<api::PreflightResult> result;  // decided, and not sent yet
    std::unique_ptr<Gang> gang;                  // the wait for other pods before the result
    net::Subscription tick;
    net::Subscription end;  // the deadline, then the patience with the report
  };

  // Pass copies of keys, never references into `questions_`: a call may remove the question.
  [[nodiscard]] Error too_many(std::string why);
  void advance(const Key& key);
  void advance_all();
  [[nodiscard]] bool is_open_unseen(Question& question) const;
  [[nodiscard]] bool is_choosing(const Key& key, Question& question, const HeldGpus& held);
  void take_choice(const Key& key, const ChoiceQuestion& asked, Result<TestChoice> choice);
  void look(const Key& key, Question& question);
  void begin(const Key& key, Question& question, const GateDecision& decision);
  [[nodiscard]] static std::vector<Subject> reservation_for(const Question& question,
                                                            const OfferedTest& test);
  [[nodiscard]] bool knows_peers(const Key& key, Question& question, const std::string& test, Duration left);
  [[nodiscard]] bool joins(Question& question, const std::string& test);
  void take_peers(const Key& key, const std::vector<std::string>& nodes);
  void tell(Question& question, const GateDecision& decision);
  void end_in_time(const Key& key);
  void conclude(const Key& key, Question& question, GateDecision decision);
  [[nodiscard]] api::PreflightResult result_of(const Question& question, const GateDecision& decision) const;
  [[nodiscard]] bool is_in_gang(const Question& question) const;
  [[nodiscard]] bool has_gang(const Question& question, const api::PreflightResult& result) const;
  void wait_for_gang(const Key& key, Question& question, const GateDecision& decision,
                     const api::PreflightResult& result);
  void tell_of_gang(const Key& key, const std::string& message);
  void end_gang(const Key& key, const std::string& given_up);
  void look_again(const Key& key, Question& question);
  void finish(const Key& key, Question& question, const GateDecision& decision,
              const api::PreflightResult& result, bool is_written);
  void tell_unwritten(const Key& key, const std::string& why);
  void write_down(const Key& key, Question& question, kube::HealthCheckReport report);
  void answer(const Key& key);
  [[nodiscard]] Duration max_age() const;
  [[nodiscard]] HeldGpus held_by(const Question& question, const CheckResult* look) const;
  [[nodiscard]] GateDecision decide(const Question& question, const std::optional<HeldGpus>& held) const;
  [[nodiscard]] kube::HealthCheckReport report_of(const Question& question, const GateDecision& decision,
                                                  const api::PreflightResult& result) const;

  net::EventLoop& loop_;
  const GateMachine machine_;
  std::map<Key, Question> questions_;
  std::uint64_t next_listener_ = 0;
  GateStats stats_;  // without `waiting`
};

}  // namespace autopilot::preflight
