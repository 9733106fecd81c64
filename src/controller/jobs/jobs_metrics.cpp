// SPDX-License-Identifier: Apache-2.0
#include "controller/jobs/jobs_metrics.hpp"

#include <array>
#include <string_view>
#include <utility>

namespace autopilot::controller {
namespace {

using logging::MetricsText;
using logging::MetricType;

void add_value(MetricsText& metrics, MetricType type, std::string_view name, std::string_view help,
               double value) {
  metrics.family(name, type, help);
  metrics.sample(value);
}

void add_receiver(MetricsText& metrics, const job_hub::ReceiverStats& stats) {
  const std::array outcomes{std::pair{std::string_view("taken"), stats.batches},
                            std::pair{std::string_view("repeated"), stats.repeated},
                            std::pair{std::string_view("resync"), stats.whole_wanted},
                            std::pair{std::string_view("not_leader"), stats.not_leading},
                            std::pair{std::string_view("denied"), stats.denied},
                            std::pair{std::string_view("malformed"), stats.malformed},
                            std::pair{std::string_view("limited"), stats.limited},
                            std::pair{std::string_view("full"), stats.full}};
  metrics.family("autopilot_jobs_batches_total", MetricType::counter,
                 "Batches of job records that agents sent, by result.");
  for (const auto& [outcome, count] : outcomes)
    metrics.sample({{"outcome", outcome}}, static_cast<double>(count));
  add_value(metrics, MetricType::counter, "autopilot_jobs_received_bytes_total",
            "Bytes of job records in batches that were taken.", static_cast<double>(stats.bytes));
  add_value(metrics, MetricType::counter, "autopilot_jobs_agent_dropped_records_total",
            "Job records that agents dropped because they could not deliver them in time.",
            static_cast<double>(stats.dropped_by_agents));
  add_value(metrics, MetricType::counter, "autopilot_jobs_corrected_batches_total",
            "Batches of nodes whose clock differs by more than 5 s; their times were corrected.",
            static_cast<double>(stats.corrected));
  add_value(metrics, MetricType::gauge, "autopilot_jobs_sending_nodes", "Nodes that have sent job records.",
            static_cast<double>(stats.nodes));
}

void add_hub(MetricsText& metrics, const job_hub::HubStats& stats) {
  add_value(metrics, MetricType::counter, "autopilot_jobs_records_total", "Job records that were parsed.",
            static_cast<double>(stats.records));
  add_value(metrics, MetricType::counter, "autopilot_jobs_malformed_lines_total",
            "Lines of batches that were left out because they are malformed.",
            static_cast<double>(stats.malformed));
  add_value(metrics, MetricType::counter, "autopilot_jobs_dropped_records_total",
            "Job records that were not used: too old, of an unknown job, about another node, or beyond a "
            "limit.",
            static_cast<double>(stats.dropped));
  add_value(metrics, MetricType::gauge, "autopilot_jobs_queued_batches",
            "Batches that wait for the evaluation.", static_cast<double>(stats.waiting));
  add_value(metrics, MetricType::gauge, "autopilot_jobs_lag_seconds",
            "Time that the last batch waited for the evaluation.", to_seconds(stats.lag));
  add_value(metrics, MetricType::counter, "autopilot_jobs_cpu_seconds_total",
            "CPU time of the evaluation of jobs.", stats.cpu_seconds);
  add_value(metrics, MetricType::gauge, "autopilot_jobs_running", "Jobs that run.",
            static_cast<double>(stats.jobs));
  add_value(metrics, MetricType::gauge, "autopilot_jobs_open_findings", "Open findings about jobs.",
            static_cast<double>(stats.findings));
}

}  // namespace

void add_job_metrics(MetricsText& metrics, const JobReceptionFigures& figures) {
  add_receiver(metrics, figures.receiver);
  add_value(metrics, MetricType::gauge, "autopilot_jobs_connections", "Open connections of agents.",
            static_cast<double>(figures.server.connections_open));
  add_value(metrics, MetricType::counter, "autopilot_jobs_handshakes_failed_total",
            "Connections of clients without a certificate that the controller trusts.",
            static_cast<double>(figures.server.handshakes_failed));
  if (figures.hub) add_hub(metrics, *figures.hub);
}

}  // namespace autopilot::controller
