// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/planner/facts.hpp"
#include "controller/planner/world.hpp"
#include "jobs/brain.hpp"

// Which objects of the cluster belong to a job. Pure.
namespace autopilot::controller {

// A kind of object that creates the pods of jobs. The chart grants the permissions for these kinds only.
struct OwnerKind {
  std::string_view group;  // "batch"
  std::string_view kind;   // "Job"
  std::string_view plural;
  std::string_view version;  // used if no pod names one
  // `status.conditions` is a list of {type, status, reason, message, lastTransitionTime}.
  bool has_conditions = false;
  std::string_view suspend;  // of a JSON pointer to the field: "/spec/suspend"; empty: it cannot be suspended
};
// Null: unknown. The version may differ.
[[nodiscard]] const OwnerKind* find_owner_kind(std::string_view api_version, std::string_view kind);

// "PyTorchJob ml/llama": the text of JobReport::owner.
struct OwnerText {
  std::string kind;
  std::string name_space;
  std::string name;
  friend bool operator==(const OwnerText&, const OwnerText&) = default;
};
// nullopt: another form, or a name that Kubernetes does not allow: agents send the text.
[[nodiscard]] std::optional<OwnerText> parse_owner_text(std::string_view text);

// The objects of a job that the API server confirms: pods on a node of the job that the named owner created,
// or whose owner it created. An agent cannot make us change an object of a job that has no pod on its node.
struct JobObjects {
  std::string name_space;           // empty: no pod is confirmed
  std::optional<Owner> owner;       // nullopt: not confirmed; the uid can be empty
  const OwnerKind* kind = nullptr;  // null: unknown kind
  std::vector<const Pod*> pods;     // ordered by node and name; valid until the world changes
};
inline constexpr std::size_t kMaxJobPods = 4096;  // beyond, pods are left out
[[nodiscard]] JobObjects find_job_objects(const World& world, const jobs::JobReport& report);

// Path of the owner. Only if the kind is known.
[[nodiscard]] std::string owner_path(const JobObjects& objects);
[[nodiscard]] std::string pod_path(const Pod& pod);

}  // namespace autopilot::controller
