// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "alerts/sender.hpp"
#include "config/alert_receivers.hpp"
#include "controller/jobs/actions/actor.hpp"
#include "controller/jobs/memory/recall.hpp"
#include "controller/jobs/owner/marks.hpp"
#include "controller/jobs/owner/owners.hpp"
#include "controller/jobs/writes/write_queue.hpp"
#include "controller/planner/world.hpp"
#include "core/clock.hpp"
#include "jobs/brain.hpp"
#include "kube/client.hpp"
#include "net/event_loop.hpp"
#include "net/key_files.hpp"

namespace autopilot::controller {

struct JobsOutletsOptions {
  std::string name_space;                        // of Autopilot
  std::string prefix = "autopilot.ibm.com";      // of annotations
  std::string host;                              // the name of our pod, for Events
  std::vector<config::AlertReceiver> receivers;  // of alerts
};

// What the outlets need of the controller.
struct JobsOutletsDoors {
  std::function<bool()> is_leader;  // called before every write
  // The snapshot of the cluster; null or incomplete: not known yet, and nothing is written about owners.
  std::function<const World*()> world;
  // An action was carried out: to be passed to Brain::acted.
  std::function<void(const jobs::WantedAction& action)> on_acted;
  net::ReadFile read_file;
  alerts::RunBlocking run_blocking;
  std::function<double()> dice;  // in [0, 1)
};

struct JobsFigures {
  std::map<jobs::FailureKind, std::uint64_t> failures;  // of jobs, since the start of this leader
  JobWriteFigures writes;
  std::map<std::string, std::uint64_t> actions;  // by state
  std::vector<alerts::ReceiverFigures> receivers;
};

// What the results of the in-flight engine do outside, on the leader: alerts, Events on pods, owners and
// nodes, annotations and a condition of owners, JobHealthReports, and actions. The engine calls publish();
// all else happens later, on the loop's thread.
class JobsOutlets {
 public:
  static constexpr Duration kSoon = std::chrono::milliseconds{20};  // after publish(), for what comes with it
  static constexpr Duration kLookAgain = std::chrono::seconds{1};   // until the cluster is known
  static constexpr Duration kRefresh = std::chrono::minutes{5};  // of a report in which only progress changed
  static constexpr Duration kRetention = std::chrono::minutes{10};  // between searches for outdated reports
  static constexpr std::size_t kMaxJobs = 4096;                     // beyond, a new job has no objects
  static constexpr std::size_t kMaxEventPods = 8;                   // of one finding

  JobsOutlets(net::EventLoop& loop, kube::Client& client, const Clock& clock, JobsOutletsOptions options,
              JobsOutletsDoors doors);
  JobsOutlets(const JobsOutlets&) = delete;
  JobsOutlets& operator=(const JobsOutlets&) = delete;
  ~JobsOutlets();

  // What earlier leaders stored about jobs: for Brain::restore, before the first publish(). Alerts that are
  // open stay open. Calls on_recalled once.
  void recall(JobRecall::OnRecalled on_recalled);
  // changed: reports of jobs that Brain::take_changed names, and of the jobs of the alerts and actions.
  void publish(const std::vector<jobs::JobReport>& changed, const std::vector<jobs::Alert>& alerts,
               const std::vector<jobs::WantedAction>& actions);
  [[nodiscard]] JobsFigures figures() const;

 private:
  struct Shown;  // what was written about a job

  void write_due();
  void note_failure(const jobs::JobReport& report, Shown& shown);
  void show(const World& world, Shown& shown);
  void show_report(const JobObjects& objects, Shown& shown);
  void show_owner(const JobObjects& objects, Shown& shown);
  void show_failure(const JobObjects& objects, Shown& shown);
  void annotate(const JobObjects& objects, const std::string& name, const std::string& value,
                const std::string& job);
  void withdraw(const World& world, const jobs::JobReport& report);
  void tell(const World& world, const jobs::Alert& alert);
  void tell_objects(const World& world, const JobObjects& objects, const std::string& node,
                    const kube::EventFact& like);
  void look_for_outdated(const std::string& page);
  void take_outdated(const kube::ApiResult<std::string>& answer);
  void forget_ended();

  net::EventLoop& loop_;
  kube::Client& client_;
  const Clock& clock_;
  const JobsOutletsOptions options_;
  const JobsOutletsDoors doors_;
  const NodeMarks node_marks_;
  const JobMarks marks_;
  alerts::Sender sender_;
  JobWriteQueue writes_;
  JobRecall recall_;
  JobActor actor_;
  std::map<std::string, Shown, std::less<>> jobs_;
  std::set<std::string> due_;
  std::deque<jobs::Alert> events_;  // alerts whose Events wait for the snapshot
  std::map<jobs::FailureKind, std::uint64_t> failures_;
  net::Subscription due_at_;
  net::Subscription retention_;
  net::Exchange exchange_;  // last: it calls
};

}  // namespace autopilot::controller
