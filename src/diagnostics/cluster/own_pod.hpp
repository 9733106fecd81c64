// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
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

// FNV-1a, 64 bits: short, and the same in every process and every version.
[[nodiscard]] std::uint64_t word_hash(std::string_view text);
// Its 16 hexadecimal digits.
[[nodiscard]] std::string hash_digits(std::string_view text);

// The value of the label that says for which node something was made: its name. A value has 63 bytes at most;
// of a longer name it is the first 46, "-" and its hash_digits. The policy autopilot-own
// (deploy/helm/autopilot/templates/admission.yaml) knows this form.
[[nodiscard]] std::string node_label_value(std::string_view node);

}  // namespace autopilot::diagnostics
