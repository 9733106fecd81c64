// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "agent/jobs/job_evidence.hpp"
#include "agent/jobs/jobs_runner.hpp"
#include "agent/jobs/record_feed.hpp"
#include "core/clock.hpp"
#include "kube/callers/guard.hpp"
#include "net/http_server.hpp"

namespace autopilot::agent {

// What the routes use. Everything outlives the server.
struct JobsRouteContext {
  JobsRunner* runner = nullptr;           // null: jobs.enabled is false
  std::shared_ptr<RecordFeed> feed;       // used on the runner's thread only
  std::shared_ptr<JobEvidence> evidence;  // null as the runner
  const Clock& clock;
  api::JobBrain brain_at = api::JobBrain::agent;
  bool is_simulated = false;
  kube::CallerRights rights;
};

// /v1/jobs and what is below it, as in api/openapi.yaml.
void add_jobs_routes(net::HttpServer& server, const JobsRouteContext& context);

}  // namespace autopilot::agent
