// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "controller/certificates/certificate_issuer.hpp"
#include "controller/planner/facts.hpp"
#include "controller/reconcilers/remediation.hpp"
#include "controller/webhook/review_outcome.hpp"
#include "core/clock.hpp"
#include "kube/client.hpp"
#include "net/http_server.hpp"

namespace autopilot::controller {

// What is told of a controller by numbers.
struct ControllerFigures {
  bool leads = false;
  std::int32_t lease_transitions = 0;
  std::uint64_t lease_failures = 0;
  std::uint64_t configuration_refused = 0;
  std::uint64_t policy_refused = 0;
  Mode mode = Mode::observe;                      // of nodes that are in no pool
  std::optional<RemediationFigures> remediation;  // where it leads
  std::optional<WallTime> serving_until;          // of the certificate that is shown
  std::optional<WallTime> authority_until;        // of the one that signs; nothing: somebody else does
  bool has_certificate_problem = false;
  std::optional<IssuanceCounts> issued;  // certificates of agents
  ReviewFigures preflight;               // of pods that were made
  ReviewFigures observation;
  kube::ApiCounts api_requests{};
  net::ServerStats server;
};

// As Prometheus reads them.
[[nodiscard]] std::string render(const ControllerFigures& figures);

}  // namespace autopilot::controller
