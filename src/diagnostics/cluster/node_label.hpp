// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace autopilot::diagnostics {

// FNV-1a, 64 bits: short, and the same in every process and every version.
[[nodiscard]] std::uint64_t word_hash(std::string_view text);
// Its 16 hexadecimal digits.
[[nodiscard]] std::string hash_digits(std::string_view text);

// The value of the label that says for which node something was made: its name. A value has 63 bytes at most;
// of a longer name it is the first 46, "-" and its hash_digits. The policy autopilot-own
// (deploy/helm/autopilot/templates/admission.yaml) knows this form.
[[nodiscard]] std::string node_label_value(std::string_view node);

}  // namespace autopilot::diagnostics
