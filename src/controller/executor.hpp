// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controller/attempts.hpp"
#include "controller/planner/plan.hpp"
#include "controller/reconcilers/cluster_snapshot.hpp"
#include "controller/steps.hpp"
#include "core/clock.hpp"
#include "kube/client.hpp"
#include "kube/events.hpp"
#include "net/event_loop.hpp"

namespace autopilot::controller {

struct ExecutorOptions {
  std::string name_space;  // of plans, reports and requests
  std::string prefix;      // of annotations and taints
  std::string host;        // the name of our pod, for Events
};

struct ExecutorStats {
  std::map<ActionKind, std::uint64_t> done;
  std::uint64_t failed = 0;  // steps; each attempt counts
  std::uint64_t events_dropped = 0;
  std::uint64_t dropped = 0;  // decisions that were not started or not finished
};

// Turns decisions into requests, one at a time. The plan is written before its first step. Every step is one
// idempotent request with a precondition: the resourceVersion of the object, or the uid of a pod. Completed
// steps are written into the plan; the removal of a pod is written before the request is sent. After an
// interruption, the next plan continues the work. A failed step is retried with increasing waits, and no
// later step of its plan starts before it succeeds. On the loop's thread.
class Executor {
 public:
  // Decisions that waited longer are dropped: their snapshot is too old.
  static constexpr Duration kPatience = std::chrono::seconds{30};

  // is_leader: called before every request; no request is sent if it returns false. on_idle: all decisions
  // are carried out or dropped, and the snapshot shows the result; has_asked: a request was sent to the API
  // server.
  Executor(net::EventLoop& loop, kube::Client& client, const Clock& clock, ClusterSnapshot& snapshot,
           ExecutorOptions options, std::function<bool()> is_leader, std::function<double()> random,
           std::function<void(bool has_asked)> on_idle);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  ~Executor() = default;

  // Must not be called while is_busy().
  void carry_out(Plan plan);
  [[nodiscard]] bool is_busy() const { return is_busy_; }
  // When a failed step can be tried again; nullopt: none waits.
  [[nodiscard]] std::optional<MonoTime> next_try() const { return attempts_.next(clock_.now().mono); }
  [[nodiscard]] ExecutorStats stats() const;

 private:
  enum class Pace : std::uint8_t {
    request,
    go_on,
    idle
  };  // request: in flight; go_on: no request was needed
  // The object that the response to a write contains.
  enum class Writes : std::uint8_t { node, plan, new_plan, report, other };
  using Answer = kube::ApiResult<std::string>;
  using Then = std::function<Pace(const Answer& answer)>;

  // The decision in progress.
  struct Work {
    explicit Work(Decision decision);

    bool has_entry = false;
    LedgerEntry entry;
    std::deque<PlannedAction> actions;
    bool must_write = false;   // the entry, before the next step
    bool is_noted = false;     // the entry has changes that are not written yet
    bool has_failed = false;   // no further step is executed
    std::string problem;       // of the last failed step, until it succeeds
    std::string node_version;  // of our last write of the node
    std::string announced;     // uid of the pod whose removal is recorded in the ledger
  };

  void go_on();
  [[nodiscard]] Pace advance();
  [[nodiscard]] Pace next_decision();
  [[nodiscard]] Pace grant();
  void finish();
  void request(const Write& write, Writes what, Then then);
  void note(Writes what, const std::string& json);
  void read_again(const std::string& path, Writes what, const Then& then, const Answer& answer);

  [[nodiscard]] Pace write_entry();
  [[nodiscard]] Pace create_entry();
  [[nodiscard]] Pace take_created(const Answer& answer);
  [[nodiscard]] Pace take_existing(const Answer& answer);

  [[nodiscard]] Pace begin(const PlannedAction& action);
  [[nodiscard]] Pace begin_on_node(const PlannedAction& action);
  [[nodiscard]] Pace begin_on_pod(const PlannedAction& action);
  [[nodiscard]] Pace begin_on_report(const PlannedAction& action);
  [[nodiscard]] Pace begin_request(const PlannedAction& action);
  [[nodiscard]] Pace begin_event(const PlannedAction& action);
  [[nodiscard]] Pace send_event();
  [[nodiscard]] Pace take_event(const Answer& answer);
  // also_done: another outcome that means success.
  [[nodiscard]] Pace take(const Answer& answer, kube::ApiOutcome also_done = kube::ApiOutcome::ok);
  [[nodiscard]] Pace done();
  void forget_problem();
  void note_in_ledger(const PlannedAction& action);
  [[nodiscard]] Pace give_up();
  [[nodiscard]] Pace fail(const std::string& what, const kube::ApiError& why);
  [[nodiscard]] Pace fail_action(const kube::ApiError& why);
  [[nodiscard]] bool may_try(const std::string& what) const;
  [[nodiscard]] static std::string key_of(const PlannedAction& action);

  net::EventLoop& loop_;
  kube::Client& client_;
  const Clock& clock_;
  ClusterSnapshot& snapshot_;
  const ExecutorOptions options_;
  const NodeMarks marks_;
  const std::function<bool()> is_leader_;
  const std::function<double()> random_;
  const std::function<void(bool has_asked)> on_idle_;
  Attempts attempts_;
  kube::EventQueue events_;
  std::string event_;  // key of the fact in the queue
  int event_tries_ = 0;
  std::deque<Decision> waiting_;
  std::deque<std::string> grants_;  // nodes whose agents get permission for a deep diagnostic
  MonoTime accepted_{};
  std::unique_ptr<Work> work_;
  net::Exchange exchange_;
  net::Subscription pause_;
  kube::BackOff reread_;
  bool is_busy_ = false;
  bool has_asked_ = false;
  ExecutorStats stats_;
};

}  // namespace autopilot::controller
