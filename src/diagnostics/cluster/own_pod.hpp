// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "diagnostics/cluster/deep_test_job.hpp"

namespace autopilot::diagnostics {

// Facts from the pod that the agent runs in.
struct OwnPod {
  std::string image;                    // of the agent's container; empty: not known
  std::optional<OwnerReference> owner;  // its DaemonSet; not set: it has none
};
// Reads the container named "agent", else the only one. malformed: not a JSON object. Pure.
[[nodiscard]] Result<OwnPod> parse_own_pod(std::string_view text);

// Value of the label that names the node of an object. Label values have 63 bytes at most; for a longer name
// the value is its first 46 bytes, "-" and the digits of its stable_hash. The policy autopilot-own
// (deploy/helm/autopilot/templates/admission.yaml) knows this form.
[[nodiscard]] std::string node_label_value(std::string_view node);

}  // namespace autopilot::diagnostics
