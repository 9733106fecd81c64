// SPDX-License-Identifier: Apache-2.0
#include "agent/jobs/jobs_metrics.hpp"

#include <map>
#include <string_view>

#include "logging/metrics_text.hpp"

namespace autopilot::agent {
namespace {

using logging::MetricsText;
using logging::MetricType;

void job_families(MetricsText& metrics, const JobsSnapshot& snapshot) {
  using enum jobs::JobHealth;
  std::map<jobs::JobHealth, int> by_health;
  std::map<jobs::Effect, int> by_effect;
  for (const jobs::JobReport& report : snapshot.list.jobs) {
    ++by_health[report.state.health];
    for (const jobs::JobFinding& finding : report.findings)
      if (!finding.resolved) ++by_effect[finding.effect];
  }
  metrics.family("autopilot_jobs", MetricType::gauge, "Jobs that are known, by health.");
  for (const jobs::JobHealth health : {unknown, starting, running, slow, stalled, hung, ended})
    metrics.sample({{"health", jobs::to_string(health)}}, by_health[health]);
  metrics.family("autopilot_job_findings", MetricType::gauge,
                 "Open findings about jobs, by effect on the job.");
  for (const jobs::Effect effect : {jobs::Effect::none, jobs::Effect::slow, jobs::Effect::regression,
                                    jobs::Effect::hang, jobs::Effect::crash})
    metrics.sample({{"effect", jobs::to_string(effect)}}, by_effect[effect]);
}

void source_families(MetricsText& metrics, const NodeJobsCounts& counts) {
  const auto counter = [&](std::string_view name, std::string_view help, double value) {
    metrics.family(name, MetricType::counter, help);
    metrics.sample(value);
  };
  counter("autopilot_job_records_total", "Records about jobs that this node saw.",
          static_cast<double>(counts.records));
  counter("autopilot_job_records_dropped_total",
          "Records about jobs that were dropped: late, of an unknown job, or beyond a limit.",
          static_cast<double>(counts.dropped));
  counter("autopilot_job_searches_total", "Searches for jobs on this node.",
          static_cast<double>(counts.searches));
  counter("autopilot_job_searches_failed_total", "Searches for jobs that could not read the processes.",
          static_cast<double>(counts.searches_failed));
  counter("autopilot_job_search_seconds_total", "Time that searches for jobs took.", counts.search_seconds);
  counter("autopilot_job_polls_total", "Polls of the sources of job data.",
          static_cast<double>(counts.polls));
  counter("autopilot_job_poll_seconds_total", "Time that polls of the sources of job data took.",
          counts.poll_seconds);
  counter("autopilot_job_source_errors_total", "Internal errors of sources of job data.",
          static_cast<double>(counts.source_errors));
}

}  // namespace

std::string render_uplink_metrics(const JobUplink::Stats& stats) {
  MetricsText metrics;
  const auto add = [&](MetricType type, std::string_view name, std::string_view help, double value) {
    metrics.family(name, type, help);
    metrics.sample(value);
  };
  add(MetricType::counter, "autopilot_job_uplink_batches_total",
      "Batches of job records that the controller or coordinator took.", static_cast<double>(stats.batches));
  add(MetricType::counter, "autopilot_job_uplink_failures_total",
      "Requests with job records that it did not take; they are repeated.",
      static_cast<double>(stats.failures));
  add(MetricType::counter, "autopilot_job_uplink_dropped_records_total",
      "Job records that were dropped because they could not be delivered in time.",
      static_cast<double>(stats.dropped));
  add(MetricType::gauge, "autopilot_job_uplink_waiting_bytes",
      "Job records that wait to be delivered, bytes.", static_cast<double>(stats.waiting_bytes));
  add(MetricType::gauge, "autopilot_job_uplink_problem", "1 while the last request failed.",
      stats.problem.empty() ? 0 : 1);
  return std::move(metrics).take();
}

std::string render_jobs_metrics(const JobsSnapshot& snapshot) {
  MetricsText metrics;
  job_families(metrics, snapshot);
  source_families(metrics, snapshot.counts);
  return std::move(metrics).take();
}

}  // namespace autopilot::agent
