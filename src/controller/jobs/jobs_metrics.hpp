// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "job_hub/hub.hpp"
#include "job_hub/receiver.hpp"
#include "logging/metrics_text.hpp"
#include "net/http_server.hpp"

namespace autopilot::controller {

struct JobReceptionFigures {
  job_hub::ReceiverStats receiver;
  std::optional<job_hub::HubStats> hub;  // set on the leader
  net::ServerStats server;               // that agents send to
};

// The metric families autopilot_jobs_*. No label has the name of a job or a node.
void add_job_metrics(logging::MetricsText& metrics, const JobReceptionFigures& figures);

}  // namespace autopilot::controller
