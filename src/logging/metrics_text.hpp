// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace autopilot::logging {

enum class MetricType : std::uint8_t { gauge, counter };

using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

// Prometheus text format 0.0.4. Open a family once, then add its samples; a family without samples is not
// written. Label values are escaped and truncated at 512 bytes; NaN and infinities are written in Prometheus'
// spelling.
class MetricsText {
 public:
  static constexpr std::string_view kContentType = "text/plain; version=0.0.4; charset=utf-8";

  // Reuses the memory of `room`; its content is discarded.
  explicit MetricsText(std::string room = {}) : text_(std::move(room)) { text_.clear(); }

  void family(std::string_view name, MetricType type, std::string_view help);
  void sample(Labels labels, double value);
  void sample(double value) { sample({}, value); }

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] std::string take() && { return std::move(text_); }

 private:
  std::string text_;
  std::string name_;
  std::string header_;  // of the open family, until its first sample
};

}  // namespace autopilot::logging
