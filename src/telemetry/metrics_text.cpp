// SPDX-License-Identifier: Apache-2.0
#include "telemetry/metrics_text.hpp"

#include <array>
#include <charconv>
#include <cmath>

namespace autopilot::telemetry {
namespace {

constexpr std::size_t kMaxLabel = 512;

void append_number(std::string& text, double value) {
  if (std::isnan(value)) {
    text += "NaN";
  } else if (std::isinf(value)) {
    text += value > 0 ? "+Inf" : "-Inf";
  } else {
    std::array<char, 40> digits{};
    text.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
  }
}

void append_label_value(std::string& text, std::string_view value) {
  for (const char c : value.substr(0, kMaxLabel)) {
    if (c == '\\' || c == '"') {
      text += '\\';
      text += c;
    } else if (c == '\n') {
      text += "\\n";
    } else if (static_cast<unsigned char>(c) >= 0x20 && static_cast<unsigned char>(c) < 0x7f) {
      text += c;
    } else {
      // Prometheus refuses a scrape that is not UTF-8; what a machine calls itself may be anything.
      text += '?';
    }
  }
}

}  // namespace

void MetricsText::family(std::string_view name, MetricType type, std::string_view help) {
  name_ = name;
  header_ = "# HELP ";
  header_.append(name).append(" ").append(help).append("\n# TYPE ").append(name);
  header_ += type == MetricType::counter ? " counter\n" : " gauge\n";
}

void MetricsText::sample(Labels labels, double value) {
  text_ += header_;
  header_.clear();
  text_ += name_;
  char separator = '{';
  for (const auto& [name, label_value] : labels) {
    text_ += separator;
    text_.append(name).append("=\"");
    append_label_value(text_, label_value);
    text_ += '"';
    separator = ',';
  }
  if (separator == ',') text_ += '}';
  text_ += ' ';
  append_number(text_, value);
  text_ += '\n';
}

}  // namespace autopilot::telemetry
