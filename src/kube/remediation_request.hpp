// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "kube/objects.hpp"

// What somebody else must do about a node (deploy/helm/autopilot/crds/remediationrequests.yaml). A field that
// is missing is as empty as it stands here; texts that are too long for the schema are cut where they are
// written.
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
  std::string phase;  // "accepted", "done", "refused"; empty: nobody took it
  std::string by;
  std::string message;  // of who acts
  std::optional<WallTime> finished;
};
[[nodiscard]] RemediationRequest parse_remediation_request(const JsonObject& object);
// malformed: no JSON object.
[[nodiscard]] Result<RemediationRequest> parse_remediation_request(std::string_view text);

// The object that is to be created. It belongs to the plan of that Meta, and goes with it.
[[nodiscard]] std::string remediation_request_json(std::string_view name, const RequestSpec& spec,
                                                   const Meta& plan);

}  // namespace autopilot::kube
