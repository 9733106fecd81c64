// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "jobs/records.hpp"

// What a GPU does, from one window of its metrics.
namespace autopilot::jobs {

enum class GpuActivity : std::uint8_t {
  unknown,
  idle,      // no kernel runs
  spinning,  // a kernel waits in a collective: utilisation is high, nothing is computed
  computing,
};
[[nodiscard]] std::string_view to_string(GpuActivity activity);

// Power of one GPU in watts. NaN: unknown.
struct PowerLevels {
  float idle_w = kMissing;
  float spin_w = kMissing;
  float busy_w = kMissing;
};

// Levels of a job whose nodes do not state them: from the median power of its GPUs while steps ended.
[[nodiscard]] PowerLevels levels_from_history(float running_w);

// Means and shares of one window: docs/reference/job-telemetry.md. NaN: unknown.
struct GpuSigns {
  float power_w = kMissing;
  float util = kMissing;
  float tensor = kMissing;
  float dram = kMissing;
};

// Unknown if the values contradict each other or are too few. Levels that are not in the order
// idle < busy are treated as unknown.
[[nodiscard]] GpuActivity classify(const GpuSigns& signs, const PowerLevels& levels);

// Share of GPUs, 0 to 1, that spin or are idle. nullopt if the activity of less than half of them is known.
[[nodiscard]] std::optional<double> quiet_share(std::span<const GpuActivity> gpus);

}  // namespace autopilot::jobs
