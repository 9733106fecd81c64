// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/jobs/node_jobs.hpp"
#include "agent/jobs/slurm_actor.hpp"
#include "alerts/sender.hpp"
#include "config/alert_receivers.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "net/event_loop.hpp"
#include "net/key_files.hpp"
#include "nettest/run/way_back.hpp"
#include "runtime/workers.hpp"

namespace autopilot::agent {

struct JobOutletsContext {
  net::EventLoop& loop;
  std::shared_ptr<const Clock> clock;
  net::ReadFile read_file;                       // of files that `receivers` name
  std::vector<config::AlertReceiver> receivers;  // none: alerts are logged
  std::shared_ptr<SlurmActor> actor;             // null: the mode is not `act`
  Status may_act;  // an error: why this agent acts on no job, whatever the mode is
  // On the loop's thread: an action counts for the guard rails.
  std::function<void(const jobs::WantedAction& action)> on_acted;
};

struct JobOutletsFigures {
  std::vector<alerts::ReceiverFigures> receivers;
  std::map<std::string_view, std::uint64_t> actions;  // by end; empty: the mode is not `act`
};

// What the findings about jobs do outside this process, in the agent that evaluates them: alerts, and actions
// on jobs of Slurm, one at a time. An action that is not possible is logged once, with what to do. On the
// loop's thread, unless stated otherwise.
class JobOutlets {
 public:
  static constexpr std::size_t kMostActions = 64;      // that wait; beyond, they are refused
  static constexpr std::size_t kMostRemembered = 512;  // findings whose refusal was logged

  explicit JobOutlets(JobOutletsContext context);
  JobOutlets(const JobOutlets&) = delete;
  JobOutlets& operator=(const JobOutlets&) = delete;

  void publish(const JobNews& news);
  // The same for a thread that may outlive this object: it returns at once, and its news are lost then.
  [[nodiscard]] std::function<void(JobNews news)> publisher();
  [[nodiscard]] JobOutletsFigures figures() const;

 private:
  void begin(const jobs::WantedAction& action);
  void end(const jobs::WantedAction& action, const ActionResult& result);

  const JobOutletsContext context_;
  std::map<ActionResult::Kind, std::uint64_t> ended_;
  std::deque<std::string> logged_;  // findings whose action was refused or is not repeated
  nettest::WayBack way_back_;
  std::optional<runtime::Workers> files_;    // for what of the receivers' files may block
  std::optional<runtime::Workers> actions_;  // for the actor
  std::optional<alerts::Sender> sender_;     // last: it uses what is above
};

// The families of alerts and actions, as Prometheus text.
[[nodiscard]] std::string render_outlet_metrics(const JobOutletsFigures& figures);

}  // namespace autopilot::agent
