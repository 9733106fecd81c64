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

// "9 do not apply to this machine, 10 diagnostics were not started"; empty if both are 0.
[[nodiscard]] std::string without_result_text(std::size_t unsupported, std::size_t not_started);

// "45s", "12m", "3h", "5d": one unit, rounded down. "0s" for a time in the future.
[[nodiscard]] std::string age_of(WallTime then, WallTime now);

// "14:02 UTC"; with the date if it is not that of `now`: "2026-11-21 14:02 UTC".
[[nodiscard]] std::string clock_of(WallTime then, WallTime now);
// The same with seconds: "14:02:10 UTC".
[[nodiscard]] std::string precise_clock_of(WallTime then, WallTime now);

}  // namespace autopilot::cli
