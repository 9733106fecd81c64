// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace autopilot {

// unknown: could not be checked. unsupported: evidence shows that the machine has no such hardware.
enum class Health : std::uint8_t { healthy, degraded, failed, unknown, unsupported };

[[nodiscard]] std::string_view to_string(Health health);
[[nodiscard]] std::optional<Health> parse_health(std::string_view word);

// The health that decides a summary: failed > unknown > degraded > healthy > unsupported.
[[nodiscard]] Health worst(Health a, Health b);

// The verdict for the node (label gpuhealth), see verdict.hpp. none: no accelerator, or not every required
// check has completed.
enum class Verdict : std::uint8_t { none, pass, warn, evict, testing };

// "PASS", "WARN", "EVICT", "TESTING", and "" for none.
[[nodiscard]] std::string_view to_string(Verdict verdict);
[[nodiscard]] std::optional<Verdict> parse_verdict(std::string_view word);

}  // namespace autopilot
