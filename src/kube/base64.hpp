// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace autopilot::kube {

// RFC 4648, section 4, with padding: how bytes stand in the JSON and YAML of Kubernetes.
[[nodiscard]] std::string encode_base64(std::string_view bytes);
// Blanks and ends of lines between the letters are skipped. Nothing where anything else stands there, where
// the padding is missing or where bits are left over.
[[nodiscard]] std::optional<std::string> decode_base64(std::string_view text);

}  // namespace autopilot::kube
