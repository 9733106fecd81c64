// SPDX-License-Identifier: Apache-2.0
#include "controller/figures.hpp"

#include <cstddef>
#include <string_view>
#include <utility>

#include "net/server_metrics.hpp"
#include "telemetry/build_info.hpp"
#include "telemetry/metrics_text.hpp"

namespace autopilot::controller {
namespace {

using telemetry::MetricsText;
using telemetry::MetricType;

void add_one(MetricsText& metrics, MetricType type, std::string_view name, std::string_view help,
             double value) {
  metrics.family(name, type, help);
  metrics.sample(value);
}

void add_election(MetricsText& metrics, const ControllerFigures& figures) {
  add_one(metrics, MetricType::gauge, "autopilot_controller_leader",
          "1 where this controller leads: it alone writes what all of them decide.", figures.leads ? 1 : 0);
  add_one(metrics, MetricType::gauge, "autopilot_controller_lease_transitions",
          "How often the lease changed hands, as it says itself.", figures.lease_transitions);
  add_one(metrics, MetricType::counter, "autopilot_controller_lease_failures_total",
          "Requests about the lease that were refused or got no answer.",
          static_cast<double>(figures.lease_failures));
}

void add_api_requests(MetricsText& metrics, const kube::ApiCounts& counts) {
  metrics.family("autopilot_controller_api_requests_total", MetricType::counter,
                 "Requests to the API server, by how they ended.");
  for (std::size_t at = 0; at < counts.size(); ++at)
    metrics.sample({{"outcome", kube::to_string(static_cast<kube::ApiOutcome>(at))}},
                   static_cast<double>(counts.at(at)));
}

}  // namespace

std::string render(const ControllerFigures& figures) {
  MetricsText metrics;
  metrics.family("autopilot_build_info", MetricType::gauge,
                 "Always 1; the labels say which program answers.");
  const auto build = telemetry::build_info();
  metrics.sample({{"version", build.version}, {"commit", build.commit}}, 1);
  add_election(metrics, figures);
  add_one(metrics, MetricType::counter, "autopilot_controller_configuration_refused_total",
          "New configurations that were refused; the old one stayed.",
          static_cast<double>(figures.configuration_refused));
  add_api_requests(metrics, figures.api_requests);
  net::add_server_metrics(metrics, figures.server);
  return std::move(metrics).take();
}

}  // namespace autopilot::controller
