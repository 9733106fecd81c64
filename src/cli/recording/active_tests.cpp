// SPDX-License-Identifier: Apache-2.0
#include "cli/recording/active_tests.hpp"

#include <algorithm>
#include <variant>

#include "core/yaml_text.hpp"

namespace autopilot::cli {
namespace {

YamlNode node_of(const Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return yaml_integer(*whole);
  if (const auto* number = std::get_if<double>(&value)) return yaml_number(*number);
  if (const auto* flag = std::get_if<bool>(&value)) return yaml_flag(*flag);
  return yaml_word(std::get<std::string>(value));
}

YamlNode node_of(const Observation& observation, Instant now) {
  YamlNode node = yaml_map();
  yaml_member(node, "name") = yaml_word(observation.name);
  yaml_member(node, "subject") = yaml_word(to_string(observation.subject));
  yaml_member(node, "source") = yaml_word(observation.source);
  if (observation.value) yaml_member(node, "value") = node_of(*observation.value);
  if (!observation.missing.empty()) yaml_member(node, "missing") = yaml_word(observation.missing);
  if (!observation.unit.empty()) yaml_member(node, "unit") = yaml_word(observation.unit);
  const Duration age = std::max(Duration{0}, now.mono - observation.time.mono);
  yaml_member(node, "age") = yaml_word(format_duration(std::chrono::round<std::chrono::seconds>(age)));
  for (const auto& [name, value] : observation.attributes)
    yaml_member(yaml_member(node, "attributes"), name) = node_of(value);
  return node;
}

}  // namespace

YamlNode active_test(const Result<Observations>& found, Instant now) {
  YamlNode node = yaml_map();
  if (!found) {
    const Errc code = found.error().code;
    const bool is_spelt = code == Errc::unsupported || code == Errc::timed_out || code == Errc::denied ||
                          code == Errc::malformed;
    yaml_member(node, "error") = yaml_word(to_string(is_spelt ? code : Errc::unavailable));
    return node;
  }
  YamlNode& seen = yaml_member(node, "seen");
  seen = yaml_list();
  for (const Observation& observation : *found)
    seen.items.push_back(node_of(observation, now));
  return node;
}

}  // namespace autopilot::cli
