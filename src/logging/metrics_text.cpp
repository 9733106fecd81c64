// SPDX-License-Identifier: Apache-2.0
#include "logging/metrics_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace autopilot::logging {
namespace {

constexpr std::size_t kMaxLabel = 512;
constexpr std::size_t kMaxNumber = 40;

bool is_plain(char c) {
  return c >= 0x20 && c < 0x7f && c != '\\' && c != '"';
}

// Each of these writes at `at`, where space is reserved, and returns the end.
char* put(char* at, std::string_view text) {
  return std::ranges::copy(text, at).out;
}

char* put_number(char* at, double value) {
  if (std::isnan(value)) return put(at, "NaN");
  if (std::isinf(value)) return put(at, value > 0 ? "+Inf" : "-Inf");
  return std::to_chars(at, at + kMaxNumber, value).ptr;
}

char* put_escaped(char* at, std::string_view value) {
  const auto first = std::ranges::find_if_not(value, is_plain);
  at = std::copy(value.begin(), first, at);
  for (const char c : std::string_view(first, value.end())) {
    if (c == '\\' || c == '"' || c == '\n') *at++ = '\\';
    // Prometheus refuses a scrape that is not UTF-8, and names from the machine can contain any bytes.
    *at++ = c == '\n' ? 'n' : is_plain(c) || c == '\\' || c == '"' ? c : '?';
  }
  return at;
}

}  // namespace

void MetricsText::family(std::string_view name, MetricType type, std::string_view help) {
  name_ = name;
  header_ = "# HELP ";
  header_.append(name).append(" ").append(help).append("\n# TYPE ").append(name);
  header_ += type == MetricType::counter ? " counter\n" : " gauge\n";
}

void MetricsText::sample(Labels labels, double value) {
  std::size_t room = header_.size() + name_.size() + kMaxNumber + std::string_view("{} \n").size();
  for (const auto& [name, label_value] : labels)
    room += name.size() + std::string_view("=\"\",").size() + 2 * std::min(label_value.size(), kMaxLabel);
  const std::size_t begin = text_.size();
  text_.resize(begin + room);
  char* at = put(put(text_.data() + begin, header_), name_);
  header_.clear();
  char separator = '{';
  for (const auto& [name, label_value] : labels) {
    *at++ = separator;
    at = put(put(at, name), "=\"");
    at = put_escaped(at, label_value.substr(0, kMaxLabel));
    *at++ = '"';
    separator = ',';
  }
  if (separator == ',') *at++ = '}';
  *at++ = ' ';
  at = put_number(at, value);
  *at++ = '\n';
  text_.resize(static_cast<std::size_t>(at - text_.data()));
}

}  // namespace autopilot::logging
