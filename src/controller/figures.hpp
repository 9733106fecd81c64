// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "controller/certificates/certificate_issuer.hpp"
#include "controller/jobs/outlets.hpp"
#include "controller/planner/facts.hpp"
#include "controller/reconcilers/remediation.hpp"
#include "controller/webhook/review_outcome.hpp"
#include "core/clock.hpp"
#include "kube/client.hpp"
#include "logging/metrics_text.hpp"
#include "net/http_server.hpp"

namespace autopilot::controller {

// The values of the controller's metrics.
struct ControllerFigures {
  bool leads = false;
  std::int32_t lease_transitions = 0;
  std::uint64_t lease_failures = 0;
  std::uint64_t configuration_refused = 0;
  std::uint64_t policy_refused = 0;
  Mode mode = Mode::observe;                      // of nodes outside every pool
  std::optional<RemediationFigures> remediation;  // set on the leader
  std::optional<JobsFigures> jobs;                // set on the leader
  std::optional<WallTime> serving_until;          // end of the serving certificate
  std::optional<WallTime>
      authority_until;  // end of the authority; nullopt: cert-manager or an operator issues the certificates
  bool has_certificate_problem = false;
  std::optional<IssuanceCounts> issued;  // certificates of agents
  ReviewFigures preflight;               // reviews of new pods
  ReviewFigures observation;
  kube::ApiCounts api_requests{};
  net::ServerStats server;
};

void add_metrics(logging::MetricsText& metrics, const ControllerFigures& figures);

}  // namespace autopilot::controller
