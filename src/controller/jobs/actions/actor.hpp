// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controller/jobs/actions/action_plan.hpp"
#include "controller/jobs/writes/write_queue.hpp"
#include "controller/planner/world.hpp"
#include "core/clock.hpp"
#include "jobs/brain.hpp"
#include "kube/client.hpp"
#include "kube/job_health_reports.hpp"
#include "net/event_loop.hpp"

namespace autopilot::controller {

struct JobActorOptions {
  std::string name_space;  // of Autopilot: of the report of a job without a confirmed namespace
  std::string prefix;      // of annotations
};

struct JobActorFigures {
  std::map<std::string, std::uint64_t>
      by_state;  // "waiting", "done", "failed", "given_up", "refused", "repeated"
};

// Carries out actions about jobs, one after the other. An action is recorded in the JobHealthReport of its
// job before its first step, under the id of its finding, and an action that is recorded is never begun
// again: not after a failure, and not by the next leader. The record of a swap waits between its two halves;
// a second half without such a record is not carried out. A step that fails ends its action. Every beginning
// and every end is an Event of the owner. On the loop's thread.
class JobActor {
 public:
  static constexpr std::size_t kMaxWaiting = 64;                  // beyond, an action is refused
  static constexpr Duration kPatience = std::chrono::minutes{2};  // for the snapshot of the cluster
  static constexpr Duration kLookAgain = std::chrono::seconds{1};

  // world: null or incomplete until the snapshot is known. on_acted: the steps of the action were carried
  // out; it counts for the guard rails of the engine.
  JobActor(net::EventLoop& loop, kube::Client& client, const Clock& clock, JobWriteQueue& writes,
           const JobActorOptions& options, std::function<bool()> is_leader,
           std::function<const World*()> world,
           std::function<void(const jobs::WantedAction& action)> on_acted);
  JobActor(const JobActor&) = delete;
  JobActor& operator=(const JobActor&) = delete;
  ~JobActor() = default;

  // report: of the job of the action.
  void act(jobs::WantedAction action, jobs::JobReport report);
  [[nodiscard]] const JobActorFigures& figures() const { return figures_; }

 private:
  struct Work {
    jobs::WantedAction action;
    jobs::JobReport report;
    MonoTime since{};
    std::string path;  // of the JobHealthReport
    std::optional<kube::EventObject> owner;
    std::deque<JobStep> steps;
    kube::ReportedJobAction record;
  };
  using Reply = kube::ApiResult<std::string>;

  void go_on();
  void begin(const World& world);
  void look_for_record();
  void take_record(const Reply& reply);
  [[nodiscard]] bool may_begin(const kube::ReportedJobAction* known) const;
  void begin_steps();
  void skip_recorded(const kube::ReportedJobAction* known);
  void create_report();
  void write_record(const std::function<void(const Reply&)>& then);
  void next_step();
  void take_current(const JobStep& step, const Reply& reply);
  void take_step(const JobStep& step, const Reply& reply);
  void fail(const std::string& why);
  void end(const std::string& state, const std::string& message);
  void finish();
  void tell(const std::string& reason, const std::string& message, bool is_warning);
  [[nodiscard]] bool may_go_on();

  net::EventLoop& loop_;
  kube::Client& client_;
  const Clock& clock_;
  JobWriteQueue& writes_;
  const JobActorOptions options_;
  const NodeMarks node_marks_;
  const JobMarks job_marks_;
  const std::function<bool()> is_leader_;
  const std::function<const World*()> world_;
  const std::function<void(const jobs::WantedAction& action)> on_acted_;
  std::deque<Work> waiting_;
  bool is_busy_ = false;  // with the first
  JobActorFigures figures_;
  net::Subscription wake_;
  net::Exchange exchange_;  // last: it calls
};

}  // namespace autopilot::controller
