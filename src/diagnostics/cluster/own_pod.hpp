// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "diagnostics/cluster/deep_test_job.hpp"

namespace autopilot::diagnostics {

// What the pod that an agent runs in says about it.
struct OwnPod {
  std::string image;                    // of the agent's container; empty: not told
  std::optional<OwnerReference> owner;  // its DaemonSet; nothing: it has none
};
// The container named "agent", else the only one. malformed: no JSON object. Pure.
[[nodiscard]] Result<OwnPod> parse_own_pod(std::string_view text);

}  // namespace autopilot::diagnostics
