// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "compat/ibm_autopilot/check_names.hpp"
#include "compat/ibm_autopilot/said.hpp"
#include "core/snapshot.hpp"

namespace autopilot::compat::ibm_autopilot {

// Of the checks of that name the one whose test ended last; before any has, the one that somebody wants
// tests of. Null where none runs here.
[[nodiscard]] const CheckResult* result_of(const CheckName& name, const NodeSnapshot& snapshot);

// Of the result of either check of DCGM: a deep test of the node, or one on this machine.
[[nodiscard]] Said dcgm(const NodeSnapshot& snapshot, const CheckResult& result);
// Whether the last test failed; nothing: none has said anything, or what it said does not suffice for a pass.
[[nodiscard]] std::optional<bool> has_failed_dcgm(const NodeSnapshot& snapshot);

}  // namespace autopilot::compat::ibm_autopilot
