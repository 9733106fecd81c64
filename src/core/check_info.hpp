// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"

namespace autopilot {

// cheap: reads files that are held in memory; moderate: a driver or a device answers; expensive: seconds of
// work. Passive checks are never expensive.
enum class Cost : std::uint8_t { cheap, moderate, expensive };

[[nodiscard]] std::string_view to_string(Cost cost);
[[nodiscard]] std::optional<Cost> parse_cost(std::string_view word);

// Static facts of a check, known without running it.
struct CheckInfo {
  std::string id;     // "gpu.row_remap"; also the name of its file, golden folder, page and metric label
  std::string title;  // "GPU memory row remapping"
  std::vector<std::string> tags;  // "gpu", "memory", "passive", ...
  Duration period = std::chrono::seconds{30};
  Duration deadline = std::chrono::seconds{10};
  Duration window = std::chrono::minutes{10};  // age of the oldest sample that judge uses
  Cost cost = Cost::cheap;
  std::vector<std::string> witnesses;  // data sources, in order of trust
  std::vector<std::string>
      rights;                  // permissions that a complete result needs, such as "CAP_SYSLOG"; empty: none
  bool needs_window = false;   // the verdict needs two samples (a rate or a share of time)
  bool judges_growth = false;  // one sample is enough for a result; two also show growth
  // Observations whose largest value since boot is kept beyond the window: judge reads it as
  // "<name>.largest". This records the best that a device has achieved. To survive a restart, it needs
  // needs_window.
  std::vector<std::string> baselines{};
};

}  // namespace autopilot
