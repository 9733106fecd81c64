// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace autopilot::collect {

// One line of the text format of Prometheus. Views are into the line; escapes in values remain.
struct PrometheusSample {
  static constexpr std::size_t kMaxLabels = 32;
  static constexpr std::size_t kMaxLine = 64 * 1024;

  std::string_view name;
  std::vector<std::pair<std::string_view, std::string_view>> labels;
  double value = 0;  // finite

  // Empty: the sample does not have the label.
  [[nodiscard]] std::string_view label(std::string_view key) const;
};

// nullopt: a comment, an empty or a malformed line, or a value that is not finite.
[[nodiscard]] std::optional<PrometheusSample> parse_prometheus_line(std::string_view line);

// Calls `sink` for each sample. Any text is accepted.
void read_prometheus(std::string_view text, const std::function<void(const PrometheusSample&)>& sink);

}  // namespace autopilot::collect
