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
  // Runs the function on the brain's thread, later. An error: why there is no answer; it is the answer.
  std::function<Status(std::function<void(jobs::Brain& brain, WallTime now)>)> ask;
  api::JobBrain brain_at = api::JobBrain::controller;
  const Clock& clock;
  kube::CallerRights rights;  // of `create` on jobs/feedback, jobs/ack and jobs/mute
};

// GET /v1/jobs: any client of the server. POST /v1/jobs/feedback, /v1/jobs/ack and /v1/jobs/mute: callers
// with the permission. As in api/openapi.yaml.
void add_brain_routes(net::HttpServer& server, const BrainRouteContext& context);

}  // namespace autopilot::job_hub
