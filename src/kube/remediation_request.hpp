// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "kube/objects.hpp"

// An action about a node that another program must do (deploy/helm/autopilot/crds/remediationrequests.yaml).
// A missing field gets its default here; writing truncates texts that are too long for the schema.
namespace autopilot::kube {

// "/apis/autopilot.ibm.com/v1alpha1/namespaces/<name_space>/remediationrequests"
[[nodiscard]] std::string remediation_requests_path(std::string_view name_space);

struct RequestSpec {
  std::string node;
  std::string node_uid;
  std::string action;   // "reset_gpu", "reboot_node", "replace", ...
  std::string subject;  // "gpu/0000:3b:00.0"
  std::string plan;
  std::string incident;
  std::string message;
  WallTime created{};
  friend bool operator==(const RequestSpec&, const RequestSpec&) = default;
};

struct RemediationRequest {
  Meta meta;
  RequestSpec spec;
  std::string phase;  // "accepted", "done", "refused"; empty: not accepted yet
  std::string by;
  std::string message;  // from the acting program
  std::optional<WallTime> finished;
};
[[nodiscard]] RemediationRequest parse_remediation_request(const JsonObject& object);
// malformed: not a JSON object.
[[nodiscard]] Result<RemediationRequest> parse_remediation_request(std::string_view text);

// The object to create. The plan of that Meta owns it, and it is deleted with the plan.
[[nodiscard]] std::string remediation_request_json(std::string_view name, const RequestSpec& spec,
                                                   const Meta& plan);

}  // namespace autopilot::kube
