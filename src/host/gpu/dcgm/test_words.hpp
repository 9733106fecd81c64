// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace autopilot::host {

// "GPU Memory" -> "gpu_memory": a test of DCGM as it stands in what is told of it. Pure.
[[nodiscard]] std::string test_word(std::string_view name);

// An error of DCGM by which a test fails without a fault of the hardware (catalog/dcgm_errors.yaml).
struct DcgmExcuse {
  std::int64_t error = 0;
  std::string says;  // part of its warning, in small letters; empty: any
  friend bool operator==(const DcgmExcuse&, const DcgmExcuse&) = default;
};

// A failure with this error and warning is one of them. A warning that was cut off entirely does not speak
// against it; one of something else does, whatever its number. Pure.
[[nodiscard]] bool is_excused(std::optional<std::int64_t> error, std::string_view warning,
                              std::span<const DcgmExcuse> excuses);

// "45:link generation,47": as an argument of a helper, and back; malformed: what is no such list. Pure.
[[nodiscard]] std::string format_excuses(std::span<const DcgmExcuse> excuses);
[[nodiscard]] Result<std::vector<DcgmExcuse>> parse_excuses(std::string_view text);

// By its word: whether a name of `fatal` is part of its own, in any case and with any blanks. DCGM 4 calls
// memory what was GPU Memory before. Pure.
[[nodiscard]] bool is_fatal_test(std::string_view word, std::span<const std::string> fatal);

}  // namespace autopilot::host
