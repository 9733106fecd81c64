// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace autopilot::kube {

// RFC 4648, section 4, with padding, as in the JSON and YAML of Kubernetes.
[[nodiscard]] std::string encode_base64(std::string_view bytes);
// Skips spaces and line ends between the letters. nullopt for other characters, missing padding or leftover
// bits.
[[nodiscard]] std::optional<std::string> decode_base64(std::string_view text);

}  // namespace autopilot::kube
