// SPDX-License-Identifier: Apache-2.0
#include "agent/metrics.hpp"

#include <array>
#include <set>
#include <string_view>
#include <tuple>

#include "logging/build_info.hpp"
#include "logging/metrics_text.hpp"
#include "net/http_server.hpp"

namespace autopilot::agent {
namespace {

using compat::ibm_autopilot::HealthGauges;
using logging::MetricsText;
using logging::MetricType;

constexpr std::array kEveryHealth{Health::healthy, Health::degraded, Health::failed, Health::unknown,
                                  Health::unsupported};
constexpr std::array kEveryVerdict{Verdict::pass, Verdict::warn, Verdict::evict, Verdict::testing};

std::string index_of(const Subject& subject) {
  return subject.index ? std::to_string(*subject.index) : "";
}

// Of each node that answers pings, and each round asks others.
bool is_answering_peer(const Observation& observation, double number) {
  return observation.name == "ping.silent" && number == 0;
}

void node_families(MetricsText& metrics, const NodeSnapshot& snapshot) {
  const auto build = logging::build_info();
  metrics.family("autopilot_build_info", MetricType::gauge,
                 "Always 1; the labels say which program answers.");
  metrics.sample({{"version", build.version}, {"commit", build.commit}, {"compiler", build.compiler}}, 1);
  metrics.family("autopilot_simulated", MetricType::gauge,
                 "1 when the machine does not exist, 0 for a real one.");
  metrics.sample(snapshot.simulated ? 1 : 0);
  metrics.family("autopilot_node_health", MetricType::gauge,
                 "1 for the health of this node, 0 for the other words.");
  for (const Health health : kEveryHealth)
    metrics.sample({{"node", snapshot.node}, {"health", to_string(health)}},
                   snapshot.health == health ? 1 : 0);
  metrics.family(
      "autopilot_node_verdict", MetricType::gauge,
      "1 for the verdict on this node, 0 for the others; all 0 without an accelerator or before every "
      "required check has run.");
  for (const Verdict verdict : kEveryVerdict)
    metrics.sample({{"node", snapshot.node}, {"verdict", to_string(verdict)}},
                   snapshot.verdict == verdict ? 1 : 0);
  metrics.family("autopilot_coverage_looked", MetricType::gauge, "Checks that could look.");
  metrics.sample(snapshot.coverage.looked);
  metrics.family("autopilot_coverage_checks", MetricType::gauge,
                 "Checks that have something to look at here.");
  metrics.sample(snapshot.coverage.of);
}

void check_families(MetricsText& metrics, const NodeSnapshot& snapshot) {
  metrics.family("autopilot_check_health", MetricType::gauge,
                 "1 for the health a check found, 0 for the other words.");
  for (const CheckResult& result : snapshot.results)
    for (const Health health : kEveryHealth)
      metrics.sample({{"check", result.check}, {"health", to_string(health)}},
                     result.health == health ? 1 : 0);
  metrics.family("autopilot_check_required", MetricType::gauge, "1 when the profile requires the check.");
  for (const CheckResult& result : snapshot.results)
    metrics.sample({{"check", result.check}}, result.required ? 1 : 0);
  metrics.family("autopilot_check_duration_seconds", MetricType::gauge, "Duration of the last run.");
  for (const CheckResult& result : snapshot.results)
    metrics.sample({{"check", result.check}}, to_seconds(result.duration));
}

void finding_families(MetricsText& metrics, const NodeSnapshot& snapshot) {
  metrics.family("autopilot_finding", MetricType::gauge,
                 "1 for each subject and reason with a finding now; held ones wait for their clear rule.");
  for (const CheckResult& result : snapshot.results) {
    std::set<std::tuple<Subject, std::string_view, Health, Action, bool, bool>> told;
    for (const Finding& finding : result.findings) {
      // Several errors of one reason are one series: a code is not a label.
      const auto [place, is_new] = told.emplace(finding.subject, finding.reason, finding.health,
                                                finding.action, finding.held, finding.injected);
      if (!is_new) continue;
      metrics.sample({{"check", result.check},
                      {"subject", to_string(finding.subject)},
                      {"index", index_of(finding.subject)},
                      {"uuid", finding.subject.uuid},
                      {"reason", finding.reason},
                      {"health", to_string(finding.health)},
                      {"action", to_string(finding.action)},
                      {"held", finding.held ? "true" : "false"},
                      {"injected", finding.injected ? "true" : "false"}},
                     1);
    }
  }
  metrics.family("autopilot_incident_confidence_ratio", MetricType::gauge,
                 "Confidence that the blamed subject is at fault, for each incident that is not closed.");
  for (const Incident& incident : snapshot.incidents)
    metrics.sample({{"id", incident.id},
                    {"check", incident.check},
                    {"reason", incident.reason},
                    {"subject", to_string(incident.blamed)},
                    {"state", to_string(incident.state)},
                    {"health", to_string(incident.health)},
                    {"action", to_string(incident.action)},
                    {"cause", incident.cause},
                    {"end", incident.end ? to_string(*incident.end) : ""}},
                   incident.confidence);
  metrics.family("autopilot_kernel_records_total", MetricType::counter,
                 "Kernel records that mean something, known or not, since the agent started.");
  for (const auto& [kind, count] : snapshot.records)
    metrics.sample({{"check", kind.check},
                    {"name", kind.name},
                    {"value", kind.value},
                    {"subject", to_string(kind.subject)}},
                   static_cast<double>(count));
  metrics.family(
      "autopilot_observation", MetricType::gauge,
      "Every number of the last run, in the unit of its label; without ping.silent of nodes that answer.");
  for (const CheckResult& result : snapshot.results) {
    for (const Observation& observation : result.observations) {
      if (observation.is_event() || !observation.value) continue;
      const auto number = as_number(*observation.value);
      if (!number || is_answering_peer(observation, *number)) continue;
      metrics.sample({{"check", result.check},
                      {"name", observation.name},
                      {"subject", to_string(observation.subject)},
                      {"index", index_of(observation.subject)},
                      {"unit", observation.unit}},
                     *number);
    }
  }
}

void self_families(MetricsText& metrics, const SelfStatus& self) {
  metrics.family("autopilot_open_actions", MetricType::gauge,
                 "1 when any user who can reach the port may start tests: compat.open_actions.");
  metrics.sample(self.open_actions ? 1 : 0);
  const auto counter = [&metrics](std::string_view name, std::string_view help, std::uint64_t value) {
    metrics.family(name, MetricType::counter, help);
    metrics.sample(static_cast<double>(value));
  };
  const auto gauge = [&metrics](std::string_view name, std::string_view help, double value) {
    metrics.family(name, MetricType::gauge, help);
    metrics.sample(value);
  };
  counter("autopilot_checks_run_total", "Rounds of looking that were started.", self.checks_run);
  counter("autopilot_checks_late_total", "Rounds that started later than half their period.",
          self.checks_late);
  counter("autopilot_results_dropped_total", "Answers that came after their deadline.", self.results_dropped);
  gauge("autopilot_lanes", "Threads that run checks.", self.lanes);
  gauge("autopilot_lanes_stuck", "Threads given up in a call that does not return.", self.lanes_stuck);
  gauge("autopilot_helpers_stuck", "Helper processes that cannot be killed.", self.helpers_stuck);
  counter("autopilot_kernel_records_read_total", "Kernel log records read.", self.kernel_records_read);
  counter("autopilot_kernel_records_lost_total",
          "Kernel log records that were overwritten before they were read.", self.kernel_records_lost);
  counter("autopilot_kernel_records_missed_total",
          "Kernel log records that were read, but dropped before every check that wants such had them.",
          self.kernel_records_missed);
  counter("autopilot_driver_calls_total", "Calls into the GPU driver library.", self.driver_calls);
  gauge("autopilot_journal_lag_seconds",
        "Age of the oldest entry that is not durable yet; 0 where it is less than 0.25 s.",
        self.journal_lag_seconds);
  gauge("autopilot_journal_durable", "0 without a journal, or when it does not keep up.",
        self.journal_durable ? 1 : 0);
  counter("autopilot_journal_dropped_total", "Entries that were never written.", self.journal_dropped);
  counter("autopilot_configuration_refused_total", "New configurations that were refused.",
          self.configuration_refused);
  gauge("autopilot_cluster_problem", "1 while there is something that the agent cannot do in its cluster.",
        self.cluster && !self.cluster->problem.empty() ? 1 : 0);
  if (!self.cluster) return;
  counter("autopilot_cluster_writes_total", "Writes to the cluster that succeeded.", self.cluster->writes);
  counter("autopilot_cluster_write_failures_total", "Writes to the cluster that did not.",
          self.cluster->failures);
  counter("autopilot_cluster_events_dropped_total", "Events about the node that were never written.",
          self.cluster->events_dropped);
}

void age_families(MetricsText& metrics, const NodeSnapshot& snapshot, WallTime now) {
  metrics.family("autopilot_check_age_seconds", MetricType::gauge, "Time since the last run ended.");
  for (const CheckResult& result : snapshot.results)
    if (result.completed != WallTime{})
      metrics.sample({{"check", result.check}}, to_seconds(now - result.completed));
}

void gate_families(MetricsText& metrics, const preflight::GateStats& gate) {
  metrics.family("autopilot_preflight_total", MetricType::counter,
                 "Pods checked at the pre-flight gate, by outcome.");
  metrics.sample({{"outcome", "passed"}}, static_cast<double>(gate.passed));
  metrics.sample({{"outcome", "failed"}}, static_cast<double>(gate.failed));
  metrics.sample({{"outcome", "could_not_look"}}, static_cast<double>(gate.could_not_look));
  metrics.family("autopilot_preflight_refused_total", MetricType::counter,
                 "Pods turned away to retry later, because too many were waiting.");
  metrics.sample(static_cast<double>(gate.refused));
  metrics.family("autopilot_preflight_gangs_given_up_total", MetricType::counter,
                 "Pods that did not wait any longer for the other pods of their job.");
  metrics.sample(static_cast<double>(gate.gangs_given_up));
  metrics.family("autopilot_preflight_choices_total", MetricType::counter,
                 "Pods whose diagnostics the history of the node chose. failed: all ran instead.");
  metrics.sample({{"choice", "some"}}, static_cast<double>(gate.chosen - gate.chosen_all));
  metrics.sample({{"choice", "all"}}, static_cast<double>(gate.chosen_all));
  metrics.sample({{"choice", "failed"}}, static_cast<double>(gate.choice_failed));
  metrics.family("autopilot_preflight_left_out_total", MetricType::counter,
                 "Diagnostics that the history of the node left out.");
  metrics.sample(static_cast<double>(gate.left_out));
  metrics.family("autopilot_preflight_waiting", MetricType::gauge, "Pods waiting at the pre-flight gate.");
  metrics.sample(static_cast<double>(gate.waiting));
}

void tls_families(MetricsText& metrics, const net::TlsStatus& tls) {
  const auto time = [&metrics](std::string_view name, std::string_view help, WallTime value) {
    metrics.family(name, MetricType::gauge, help);
    metrics.sample(to_seconds(value.time_since_epoch()));
  };
  if (tls.validity) {
    time("autopilot_tls_certificate_not_before_timestamp_seconds",
         "When the certificate that the agent shows began to count.", tls.validity->from);
    time("autopilot_tls_certificate_expiry_timestamp_seconds",
         "When the certificate that the agent shows ends to count.", tls.validity->until);
  }
  metrics.family("autopilot_tls_renewal_failures_total", MetricType::counter, "Failed certificate renewals.");
  metrics.sample(static_cast<double>(tls.renewals.failed));
  metrics.family("autopilot_tls_renewal_failing", MetricType::gauge, "1 while the last renewal failed.");
  metrics.sample(tls.renewals.is_failing ? 1 : 0);
}

void health_family(MetricsText& metrics, const HealthGauges& health, const std::string& node,
                   const std::string& cpu_model) {
  metrics.family(compat::ibm_autopilot::kHealthChecks, MetricType::gauge,
                 compat::ibm_autopilot::kHealthChecksHelp);
  for (const auto& gauge : health.all())
    metrics.sample({{"cpumodel", cpu_model},
                    {"deviceid", gauge.device_id},
                    {"gpumodel", health.gpu_model()},
                    {"health", gauge.health},
                    {"node", node}},
                   gauge.value);
}

}  // namespace

std::string render_snapshot_metrics(const NodeSnapshot& snapshot, std::string room) {
  MetricsText metrics(std::move(room));
  node_families(metrics, snapshot);
  check_families(metrics, snapshot);
  finding_families(metrics, snapshot);
  self_families(metrics, snapshot.self);
  return std::move(metrics).take();
}

void MetricsExporter::note(const SnapshotPtr& snapshot) {
  const std::lock_guard lock(mutex_);
  if (noted_.lock() == snapshot) return;
  noted_ = snapshot;
  health_.note(*snapshot);
}

std::string MetricsExporter::render(const SnapshotPtr& snapshot, const net::ServerStats& server,
                                    const std::optional<net::TlsStatus>& tls,
                                    const preflight::GateStats& gate, WallTime now) {
  MetricsText changing;
  age_families(changing, *snapshot, now);
  net::add_server_metrics(changing, server);
  if (tls) tls_families(changing, *tls);
  gate_families(changing, gate);
  note(snapshot);
  const std::lock_guard lock(mutex_);
  health_family(changing, health_, snapshot->node, cpu_model_);
  if (rendered_.lock() != snapshot) {
    body_ = render_snapshot_metrics(*snapshot, std::move(body_));
    rendered_ = snapshot;
  }
  std::string page;
  page.reserve(body_.size() + changing.text().size());
  return page.append(body_).append(changing.text());
}

}  // namespace autopilot::agent
