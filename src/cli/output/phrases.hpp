// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "core/subject.hpp"

namespace autopilot::cli {

// Name of a subject in messages: "GPU 3 (0000:61:00.0)", "NVLink 3 of GPU 0000:61:00.0", "mlx5_0 port 1",
// "nvme0n1". Empty for this machine. Pure.
[[nodiscard]] std::string subject_text(const Subject& subject);

// "1 check", "3 checks".
[[nodiscard]] std::string count_words(std::size_t count, std::string_view one, std::string_view several);

// "45s", "12m", "3h", "5d": one unit, rounded down. "0s" for a time in the future.
[[nodiscard]] std::string age_of(WallTime then, WallTime now);

}  // namespace autopilot::cli
