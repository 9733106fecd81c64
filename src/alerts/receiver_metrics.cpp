// SPDX-License-Identifier: Apache-2.0
#include "alerts/receiver_metrics.hpp"

namespace autopilot::alerts {

using logging::MetricType;

void add_receiver_metrics(logging::MetricsText& metrics, const std::vector<ReceiverFigures>& receivers) {
  metrics.family("autopilot_alert_requests_total", MetricType::counter,
                 "Requests with alerts about jobs, by receiver and outcome.");
  for (const ReceiverFigures& receiver : receivers) {
    metrics.sample({{"receiver", receiver.name}, {"outcome", "accepted"}},
                   static_cast<double>(receiver.delivered));
    metrics.sample({{"receiver", receiver.name}, {"outcome", "failed"}},
                   static_cast<double>(receiver.failed));
  }
  metrics.family("autopilot_alert_dropped_total", MetricType::counter,
                 "Alerts about jobs that a receiver never got.");
  for (const ReceiverFigures& receiver : receivers)
    metrics.sample({{"receiver", receiver.name}}, static_cast<double>(receiver.dropped));
  metrics.family("autopilot_alert_waiting", MetricType::gauge, "Alerts about jobs that wait for a receiver.");
  for (const ReceiverFigures& receiver : receivers)
    metrics.sample({{"receiver", receiver.name}}, static_cast<double>(receiver.waiting));
}

}  // namespace autopilot::alerts
