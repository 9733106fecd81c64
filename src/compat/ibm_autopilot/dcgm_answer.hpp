// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "compat/ibm_autopilot/check_names.hpp"
#include "compat/ibm_autopilot/said.hpp"
#include "core/snapshot.hpp"

namespace autopilot::compat::ibm_autopilot {

// The check of that name with the latest test; before any test has ended, the configured check.
// Null if none runs on this node.
[[nodiscard]] const CheckResult* result_of(const CheckName& name, const NodeSnapshot& snapshot);

// Result of either DCGM check: a deep test of the node, or a test of this machine.
[[nodiscard]] Said dcgm(const NodeSnapshot& snapshot, const CheckResult& result);
// True if the last test failed; nullopt if there is no result, or the result is not sufficient for a pass.
[[nodiscard]] std::optional<bool> has_failed_dcgm(const NodeSnapshot& snapshot);

}  // namespace autopilot::compat::ibm_autopilot
