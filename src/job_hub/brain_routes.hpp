// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "api/jobs_v1.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "jobs/brain.hpp"
#include "kube/callers/guard.hpp"
#include "net/http_server.hpp"

namespace autopilot::job_hub {

// What the routes of a brain use. Everything outlives the server.
struct BrainRouteContext {
  // Runs the function on the brain's thread, later. An error is the answer to the client.
  std::function<Status(std::function<void(jobs::Brain& brain, WallTime now)>)> ask;
  api::JobBrain brain_at = api::JobBrain::controller;
  bool is_simulated = false;
  kube::CallerRights rights;  // of `create` on jobs/feedback, jobs/ack and jobs/mute
};

// GET /v1/jobs, for any client of the server. As in api/openapi.yaml.
void add_brain_list(net::HttpServer& server, const BrainRouteContext& context);
// POST /v1/jobs/feedback, /v1/jobs/ack and /v1/jobs/mute, for callers with the permission.
void add_brain_actions(net::HttpServer& server, const BrainRouteContext& context);

}  // namespace autopilot::job_hub
