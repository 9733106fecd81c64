// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "host/gpu/gpus.hpp"

namespace autopilot::host {

// What the helper sends and its caller reads: one JSON object. The time of a report or an event does not
// travel; who reads it stamps it.
[[nodiscard]] std::string format_gpu_report(const GpuReport& report);
// Strict: every word, reading and PCI address must be one we know, each GPU once. Any other text is
// Errc::malformed and says where.
[[nodiscard]] Result<GpuReport> parse_gpu_report(std::string_view text);

// Their times travel as ages: the two ends may have different clocks.
[[nodiscard]] std::string format_gpu_events(const std::vector<GpuEvent>& events, Instant now);
[[nodiscard]] Result<std::vector<GpuEvent>> parse_gpu_events(std::string_view text, Instant now);

// What to read, as it travels to the helper.
struct GpuQuestion {
  std::vector<GpuGroup> groups;
  std::vector<std::string> addresses;
};
[[nodiscard]] std::string format_gpu_question(const GpuQuestion& question);
[[nodiscard]] Result<GpuQuestion> parse_gpu_question(std::string_view text);

}  // namespace autopilot::host
