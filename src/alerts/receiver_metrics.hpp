// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "alerts/receiver.hpp"
#include "logging/metrics_text.hpp"

namespace autopilot::alerts {

// The families autopilot_alert_*. Without receivers nothing is added.
void add_receiver_metrics(logging::MetricsText& metrics, const std::vector<ReceiverFigures>& receivers);

}  // namespace autopilot::alerts
