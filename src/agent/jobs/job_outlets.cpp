// SPDX-License-Identifier: Apache-2.0
#include "agent/jobs/job_outlets.hpp"

#include <algorithm>
#include <utility>

#include "alerts/receiver_metrics.hpp"
#include "jobs/decision/advice.hpp"
#include "kube/pacing.hpp"
#include "logging/log.hpp"
#include "logging/metrics_text.hpp"

namespace autopilot::agent {
namespace {

using logging::log_info;
using logging::log_warning;

// One thread, because actions must not overtake each other: an action that hangs holds up the next ones.
constexpr runtime::Workers::Limits kActionLane{
    .threads = 1, .max_stuck = 0, .max_queued = JobOutlets::kMostActions};
// A receiver whose read is dropped would never be read again.
constexpr runtime::Workers::Limits kFileLane{
    .threads = 1, .max_stuck = 0, .max_queued = config::kMaxAlertReceivers};

void log_alert(const jobs::Alert& alert) {
  log_warning(alert.title, {{"job", alert.job},
                            {"severity", std::string(jobs::to_string(alert.severity))},
                            {"finding", alert.id}});
}

void log_action(const jobs::WantedAction& action, const ActionResult& result) {
  const auto log_it = [&](const auto& write, std::string_view text) {
    write(text, {{"action", std::string(jobs::advice_of(action.request.choice))},
                 {"job", action.finding.job},
                 {"culprit", jobs::to_string(action.finding.culprit)},
                 {"finding", action.finding.id},
                 {"cause", result.message}});
  };
  switch (result.kind) {
    case ActionResult::Kind::done:
      return log_it(log_info, "an action on a job was done");
    case ActionResult::Kind::failed:
      return log_it(log_warning, "an action on a job failed; check what was done and finish it by hand");
    case ActionResult::Kind::refused:
      return log_it(log_warning, "an action on a job is not possible for this agent; do it by hand");
    case ActionResult::Kind::repeated:
      return log_it(log_warning, "an action on a job is not repeated");
  }
}

}  // namespace

JobOutlets::JobOutlets(JobOutletsContext context) : context_(std::move(context)), way_back_(context_.loop) {
  if (context_.actor) actions_.emplace(kActionLane);
  if (context_.receivers.empty()) return;
  files_.emplace(kFileLane);
  sender_.emplace(alerts::Surroundings{.loop = context_.loop,
                                       .clock = *context_.clock,
                                       .read_file = context_.read_file,
                                       .run_blocking =
                                           [this](std::function<void()> task) {
                                             static_cast<void>(files_->submit(std::move(task)));
                                           },
                                       .dice = kube::dice()},
                  context_.receivers);
}

std::function<void(JobNews news)> JobOutlets::publisher() {
  return [this, post = way_back_.post()](JobNews news) {
    post([this, shared = std::make_shared<const JobNews>(std::move(news))] { publish(*shared); });
  };
}

void JobOutlets::publish(const JobNews& news) {
  if (sender_)
    sender_->send(news.alerts, news.reports);
  else
    std::ranges::for_each(news.alerts, log_alert);
  if (!context_.actor) return;
  for (const jobs::WantedAction& action : news.actions)
    begin(action);
}

void JobOutlets::begin(const jobs::WantedAction& action) {
  const auto refuse = [&](std::string why) {
    end(action, {.kind = ActionResult::Kind::refused, .counts = false, .message = std::move(why)});
  };
  if (!context_.may_act) return refuse(context_.may_act.error().what);
  const auto ticket = actions_->submit([this, actor = context_.actor, action, post = way_back_.post()] {
    post([this, action, result = actor->act(action)] { end(action, result); });
  });
  if (ticket == 0) refuse("too many actions wait; it is tried again if the finding lasts");
}

void JobOutlets::end(const jobs::WantedAction& action, const ActionResult& result) {
  ++ended_[result.kind];
  if (result.counts) context_.on_acted(action);
  const bool is_logged = std::ranges::find(logged_, action.finding.id) != logged_.end();
  if (!is_logged) {
    if (logged_.size() >= kMostRemembered) logged_.pop_front();
    logged_.push_back(action.finding.id);
  }
  // The engine offers an action that was not done again and again.
  const bool is_attempt =
      result.kind == ActionResult::Kind::done || result.kind == ActionResult::Kind::failed;
  if (is_attempt || !is_logged) log_action(action, result);
}

JobOutletsFigures JobOutlets::figures() const {
  JobOutletsFigures figures;
  if (sender_) figures.receivers = sender_->figures();
  if (!context_.actor) return figures;
  using enum ActionResult::Kind;
  for (const ActionResult::Kind kind : {done, failed, refused, repeated}) {
    const auto ended = ended_.find(kind);
    figures.actions[to_string(kind)] = ended == ended_.end() ? 0 : ended->second;
  }
  return figures;
}

std::string render_outlet_metrics(const JobOutletsFigures& figures) {
  logging::MetricsText metrics;
  metrics.family("autopilot_job_actions_total", logging::MetricType::counter,
                 "Actions about jobs, by result.");
  for (const auto& [state, count] : figures.actions)
    metrics.sample({{"state", state}}, static_cast<double>(count));
  alerts::add_receiver_metrics(metrics, figures.receivers);
  return std::move(metrics).take();
}

}  // namespace autopilot::agent
