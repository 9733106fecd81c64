// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "kube/objects.hpp"

namespace autopilot::kube {

// A decision about one node as an object of the cluster (deploy/helm/autopilot/crds/remediationplans.yaml). A
// missing field gets its default here. Writing truncates texts that are too long for the schema, and keeps
// the first and the newest items of lists.

// "/apis/autopilot.ibm.com/v1alpha1/namespaces/<name_space>/remediationplans"
[[nodiscard]] std::string remediation_plans_path(std::string_view name_space);

// The decision. It never changes.
struct PlanSpec {
  std::string node;
  std::string node_uid;
  std::string pool;
  std::string domain;
  std::string cause;
  WallTime created{};
  std::vector<std::string> evidence;
  std::vector<std::string> tests;
  std::vector<std::string> jobs;
  std::vector<std::string> steps;
  std::string budget;
  friend bool operator==(const PlanSpec&, const PlanSpec&) = default;
};

struct PlanStep {
  std::string action;
  std::string target;
  WallTime at{};
  bool is_counted = false;
  friend bool operator==(const PlanStep&, const PlanStep&) = default;
};

struct PlanStatus {
  std::string phase;
  std::string brake;
  std::string message;
  std::string problem;
  bool holds = false;
  bool is_released = false;
  std::optional<WallTime> updated;
  std::optional<WallTime> begun;
  std::optional<WallTime>
      would_hold;  // of a plan that is only recorded: the time from which it would hold its node
  std::optional<WallTime> returned;
  std::optional<WallTime> latest_evidence;
  std::vector<std::string> evidence;
  std::vector<std::string> tests;
  std::vector<std::string> jobs;
  std::vector<std::string> steps;
  std::string budget;
  std::string spare;
  std::vector<PlanStep> done;
  friend bool operator==(const PlanStatus&, const PlanStatus&) = default;
};

struct RemediationPlan {
  Meta meta;
  PlanSpec spec;
  std::optional<PlanStatus> status;  // nullopt: created, without progress yet
};
[[nodiscard]] RemediationPlan parse_remediation_plan(const JsonObject& object);
// malformed: not a JSON object.
[[nodiscard]] Result<RemediationPlan> parse_remediation_plan(std::string_view text);

// The object to create. Without its status, which a creation ignores.
[[nodiscard]] std::string remediation_plan_json(std::string_view name, const PlanSpec& spec);
// A merge patch of the subresource `status` that replaces the previous one completely. Refused (conflict) if
// the object has another version.
[[nodiscard]] std::string plan_status_patch(const PlanStatus& status, std::string_view version);

// All plans for people and programs: `items`, with the names of the schema (docs/remediation.md).
[[nodiscard]] std::string plans_json(std::span<const RemediationPlan> plans);

// An action about a node that another program must do (deploy/helm/autopilot/crds/remediationrequests.yaml).
// A missing field gets its default here; writing truncates texts that are too long for the schema.

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
