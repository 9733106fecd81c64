// SPDX-License-Identifier: Apache-2.0
#include "collect/progress/prometheus.hpp"

#include <algorithm>

#include "core/parse.hpp"

namespace autopilot::collect {
namespace {

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == ':';
}

std::string_view take_name(std::string_view& rest) {
  const auto end = std::find_if_not(rest.begin(), rest.end(), is_name_char);
  const std::string_view name = rest.substr(0, static_cast<std::size_t>(end - rest.begin()));
  rest.remove_prefix(name.size());
  return name;
}

// The text up to the closing quote; nullopt: there is none.
std::optional<std::string_view> take_quoted(std::string_view& rest) {
  if (!rest.starts_with('"')) return std::nullopt;
  for (std::size_t at = 1; at < rest.size(); ++at) {
    if (rest[at] == '\\') {
      ++at;
    } else if (rest[at] == '"') {
      const std::string_view text = rest.substr(1, at - 1);
      rest.remove_prefix(at + 1);
      return text;
    }
  }
  return std::nullopt;
}

// The labels behind "{", with the closing brace.
bool take_labels(std::string_view& rest, PrometheusSample& sample) {
  while (true) {
    while (rest.starts_with(' ') || rest.starts_with(','))
      rest.remove_prefix(1);
    if (rest.starts_with('}')) {
      rest.remove_prefix(1);
      return true;
    }
    const std::string_view name = take_name(rest);
    if (name.empty() || !rest.starts_with('=') || sample.labels.size() >= PrometheusSample::kMaxLabels)
      return false;
    rest.remove_prefix(1);
    const auto value = take_quoted(rest);
    if (!value) return false;
    sample.labels.emplace_back(name, *value);
  }
}

}  // namespace

std::string_view PrometheusSample::label(std::string_view key) const {
  const auto known =
      std::find_if(labels.begin(), labels.end(), [&](const auto& one) { return one.first == key; });
  return known == labels.end() ? std::string_view() : known->second;
}

std::optional<PrometheusSample> parse_prometheus_line(std::string_view line) {
  line = trim(line);
  if (line.empty() || line.front() == '#' || line.size() > PrometheusSample::kMaxLine) return std::nullopt;
  PrometheusSample sample;
  sample.name = take_name(line);
  if (sample.name.empty() || (sample.name[0] >= '0' && sample.name[0] <= '9')) return std::nullopt;
  if (line.starts_with('{')) {
    line.remove_prefix(1);
    if (!take_labels(line, sample)) return std::nullopt;
  }
  line = trim(line);
  const auto value = parse_number<double>(line.substr(0, line.find_first_of(" \t")));
  if (!value) return std::nullopt;
  sample.value = *value;
  return sample;
}

void read_prometheus(std::string_view text, const std::function<void(const PrometheusSample&)>& sink) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (const auto sample = parse_prometheus_line(text.substr(0, end))) sink(*sample);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace autopilot::collect
