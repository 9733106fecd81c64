// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "controller/planner/plan.hpp"
#include "controller/planner/world.hpp"
#include "controller/steps/write.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "kube/events.hpp"
#include "kube/health_reports.hpp"
#include "kube/remediation.hpp"

// What actions make of other objects than nodes. Pure.
namespace autopilot::controller {

// evict_pod and delete_pod: of the pod of that uid, and of no other of its name.
[[nodiscard]] Write remove_pod_step(const PlannedAction& action);
// The status of a report that is still the version which was seen.
[[nodiscard]] Write mark_report_step(const PlannedAction& action, kube::HealthCheckReport report,
                                     const std::string& name_space, WallTime now);
// What others shall do for the plan; it goes when the plan goes.
[[nodiscard]] Write request_step(const PlannedAction& action, const kube::RemediationPlan& plan,
                                 const Node* node, const std::string& name_space, WallTime now);
// What people are told. The controller stands for itself by its Deployment.
[[nodiscard]] kube::EventFact event_fact(const PlannedAction& action, const std::string& name_space);

}  // namespace autopilot::controller
