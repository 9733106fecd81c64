// SPDX-License-Identifier: Apache-2.0
#include "controller/figures.hpp"

#include <array>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "alerts/receiver_metrics.hpp"
#include "logging/build_info.hpp"
#include "logging/metrics_text.hpp"
#include "net/http_server.hpp"

namespace autopilot::controller {
namespace {

using logging::MetricsText;
using logging::MetricType;

void add_one(MetricsText& metrics, MetricType type, std::string_view name, std::string_view help,
             double value) {
  metrics.family(name, type, help);
  metrics.sample(value);
}

// "0.005"
std::string seconds_text(Duration duration) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%g", to_seconds(duration));
  return text.data();
}

void add_election(MetricsText& metrics, const ControllerFigures& figures) {
  add_one(metrics, MetricType::gauge, "autopilot_controller_leader",
          "1 on the leader, the only controller that acts.", figures.leads ? 1 : 0);
  add_one(metrics, MetricType::gauge, "autopilot_controller_lease_transitions",
          "Changes of the leader, from the Lease.", figures.lease_transitions);
  add_one(metrics, MetricType::counter, "autopilot_controller_lease_failures_total",
          "Requests for the Lease that were refused or got no response.",
          static_cast<double>(figures.lease_failures));
}

void add_certificates(MetricsText& metrics, const ControllerFigures& figures) {
  metrics.family("autopilot_controller_certificate_not_after_seconds", MetricType::gauge,
                 "End of the serving certificate and of the authority, in seconds since 1970.");
  const auto add = [&metrics](std::string_view which, const std::optional<WallTime>& until) {
    if (until) metrics.sample({{"certificate", which}}, to_seconds(until->time_since_epoch()));
  };
  add("serving", figures.serving_until);
  add("authority", figures.authority_until);
  add_one(metrics, MetricType::gauge, "autopilot_controller_certificate_problem",
          "1 while the authority cannot be read, created or published.",
          figures.has_certificate_problem ? 1 : 0);
  if (!figures.issued) return;
  metrics.family("autopilot_controller_certificate_requests_total", MetricType::counter,
                 "Certificate requests of agents, by result.");
  for (std::size_t at = 0; at < kIssuances.size(); ++at)
    metrics.sample({{"outcome", kIssuances.at(at).second}}, static_cast<double>(figures.issued->at(at)));
}

void add_reviews(MetricsText& metrics, const ControllerFigures& figures) {
  const std::array webhooks{std::pair{std::string_view("preflight"), &figures.preflight},
                            std::pair{std::string_view("observation"), &figures.observation}};
  metrics.family("autopilot_webhook_reviews_total", MetricType::counter, "Reviews of new pods, by result.");
  for (const auto& [webhook, reviews] : webhooks)
    for (std::size_t at = 0; at < kReviewOutcomes.size(); ++at)
      metrics.sample({{"webhook", webhook}, {"outcome", kReviewOutcomes.at(at).second}},
                     static_cast<double>(reviews->by_outcome.at(at)));
  metrics.family("autopilot_webhook_review_seconds_total", MetricType::counter,
                 "Total duration of these reviews in the controller.");
  for (const auto& [webhook, reviews] : webhooks)
    metrics.sample({{"webhook", webhook}}, to_seconds(reviews->total));
  metrics.family("autopilot_webhook_reviews_within_total", MetricType::counter,
                 "Reviews that took at most this many seconds.");
  for (const auto& [webhook, reviews] : webhooks)
    for (std::size_t at = 0; at < ReviewFigures::kBuckets.size(); ++at)
      metrics.sample({{"webhook", webhook}, {"seconds", seconds_text(ReviewFigures::kBuckets.at(at))}},
                     static_cast<double>(reviews->at_most.at(at)));
}

void add_api_requests(MetricsText& metrics, const kube::ApiCounts& counts) {
  metrics.family("autopilot_controller_api_requests_total", MetricType::counter,
                 "Requests to the API server, by result.");
  for (std::size_t at = 0; at < counts.size(); ++at)
    metrics.sample({{"outcome", kube::to_string(static_cast<kube::ApiOutcome>(at))}},
                   static_cast<double>(counts.at(at)));
}

void add_remediation(MetricsText& metrics, const RemediationFigures& figures) {
  add_one(metrics, MetricType::gauge, "autopilot_controller_picture_complete",
          "1 while the snapshot of the cluster is complete and current.", figures.problem.empty() ? 1 : 0);
  add_one(metrics, MetricType::counter, "autopilot_controller_plans_made_total", "Plans made.",
          static_cast<double>(figures.plans_made));
  metrics.family("autopilot_controller_remediation_plans", MetricType::gauge, "RemediationPlans, by phase.");
  for (const auto& [phase, count] : figures.entries)
    metrics.sample({{"phase", to_string(phase)}}, static_cast<double>(count));
  metrics.family("autopilot_controller_breaker_open", MetricType::gauge,
                 "1 for pools in which too many nodes failed for one cause: none is held or drained there.");
  for (const TrippedBreaker& breaker : figures.breakers)
    metrics.sample({{"pool", breaker.pool}, {"cause", breaker.cause}}, 1);
  metrics.family("autopilot_controller_steps_total", MetricType::counter,
                 "Completed steps of plans, by action.");
  for (const auto& [kind, count] : figures.executor.done)
    metrics.sample({{"action", to_string(kind)}}, static_cast<double>(count));
  add_one(metrics, MetricType::counter, "autopilot_controller_step_failures_total",
          "Failed steps of plans; each is retried.", static_cast<double>(figures.executor.failed));
  add_one(metrics, MetricType::counter, "autopilot_controller_events_dropped_total",
          "Events that were never written.", static_cast<double>(figures.executor.events_dropped));
}

void add_jobs(MetricsText& metrics, const JobsFigures& figures) {
  metrics.family("autopilot_job_failures_total", MetricType::counter,
                 "Attempts of jobs that ended with an error, by kind of the failure.");
  for (const auto kind : {jobs::FailureKind::hardware, jobs::FailureKind::application,
                          jobs::FailureKind::infrastructure, jobs::FailureKind::unclear}) {
    const auto count = figures.failures.find(kind);
    metrics.sample({{"kind", jobs::to_string(kind)}},
                   count == figures.failures.end() ? 0 : static_cast<double>(count->second));
  }
  metrics.family("autopilot_job_actions_total", MetricType::counter, "Actions about jobs, by result.");
  for (const auto& [state, count] : figures.actions)
    metrics.sample({{"state", state}}, static_cast<double>(count));
  metrics.family("autopilot_job_writes_total", MetricType::counter,
                 "Writes about jobs to the API server, by outcome; a failed request can be sent again.");
  metrics.sample({{"outcome", "written"}}, static_cast<double>(figures.writes.written));
  metrics.sample({{"outcome", "failed"}}, static_cast<double>(figures.writes.failed));
  metrics.sample({{"outcome", "dropped"}}, static_cast<double>(figures.writes.dropped));
  alerts::add_receiver_metrics(metrics, figures.receivers);
}

}  // namespace

void add_metrics(MetricsText& metrics, const ControllerFigures& figures) {
  metrics.family("autopilot_build_info", MetricType::gauge,
                 "Always 1; the labels have the version of the program.");
  const auto build = logging::build_info();
  metrics.sample({{"version", build.version}, {"commit", build.commit}}, 1);
  add_election(metrics, figures);
  add_one(metrics, MetricType::counter, "autopilot_controller_configuration_refused_total",
          "Invalid configurations that were not loaded.", static_cast<double>(figures.configuration_refused));
  add_one(metrics, MetricType::counter, "autopilot_controller_policy_refused_total",
          "Invalid policies that were not loaded.", static_cast<double>(figures.policy_refused));
  metrics.family("autopilot_controller_mode", MetricType::gauge,
                 "Always 1; the label has the mode of nodes outside every pool.");
  metrics.sample({{"mode", to_string(figures.mode)}}, 1);
  if (figures.remediation) add_remediation(metrics, *figures.remediation);
  if (figures.jobs) add_jobs(metrics, *figures.jobs);
  add_certificates(metrics, figures);
  add_reviews(metrics, figures);
  add_api_requests(metrics, figures.api_requests);
  net::add_server_metrics(metrics, figures.server);
}

}  // namespace autopilot::controller
