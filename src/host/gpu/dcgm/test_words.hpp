// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace autopilot::host {

// "GPU Memory" -> "gpu_memory": a test of DCGM as it stands in what is told of it. Pure.
[[nodiscard]] std::string test_word(std::string_view name);

// By its word: whether a name of `fatal` is part of its own, in any case and with any blanks. DCGM 4 calls
// memory what was GPU Memory before. Pure.
[[nodiscard]] bool is_fatal_test(std::string_view word, std::span<const std::string> fatal);

}  // namespace autopilot::host
