// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "controller/planner/ledger.hpp"
#include "kube/remediation.hpp"

// The ledger of the planner as objects of the cluster. Pure.
namespace autopilot::controller {

// A plan that has no status yet waits: its first decision stands in its spec.
[[nodiscard]] LedgerEntry entry_fact(const kube::RemediationPlan& plan);
[[nodiscard]] kube::PlanSpec plan_spec(const LedgerEntry& entry);
// problem: why a step of it could not be done; empty: nothing.
[[nodiscard]] kube::PlanStatus plan_status(const LedgerEntry& entry, std::string_view problem);

}  // namespace autopilot::controller
