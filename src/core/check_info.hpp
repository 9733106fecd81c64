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

// cheap: files of memory; moderate: a driver or device answers; expensive: seconds of work. Nothing passive
// is expensive.
enum class Cost : std::uint8_t { cheap, moderate, expensive };

[[nodiscard]] std::string_view to_string(Cost cost);
[[nodiscard]] std::optional<Cost> parse_cost(std::string_view word);

// What everybody may know of a check without running it.
struct CheckInfo {
  std::string id;                 // "gpu.row_remap": also file, golden folder, page and metric label
  std::string title;              // "GPU memory row remapping"
  std::vector<std::string> tags;  // "gpu", "memory", "passive", ...
  Duration period = std::chrono::seconds{30};
  Duration deadline = std::chrono::seconds{10};
  Duration window = std::chrono::minutes{10};  // how far back judge may look
  Cost cost = Cost::cheap;
  std::vector<std::string> witnesses;  // in order of trust
  std::vector<std::string> rights;     // what full sight needs: "CAP_SYSLOG"; empty where everybody may look
  bool needs_window = false;           // a verdict needs two samples (a rate or a share of time)
  bool judges_growth = false;          // one sample says much, and two also what grows
  // Observations of which the largest number of this boot stays known, beyond the window: judge finds it as
  // "<name>.largest". For what a device was able to do once. Needs needs_window to outlive a restart.
  std::vector<std::string> baselines{};
};

}  // namespace autopilot
