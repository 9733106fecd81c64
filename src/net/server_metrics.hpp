// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "net/http_server.hpp"
#include "telemetry/metrics_text.hpp"

namespace autopilot::net {

// The metric families autopilot_http_*: responses and refusals of a server.
void add_server_metrics(telemetry::MetricsText& metrics, const ServerStats& server);

}  // namespace autopilot::net
