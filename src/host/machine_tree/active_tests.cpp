// SPDX-License-Identifier: Apache-2.0
#include "host/machine_tree/active_tests.hpp"

#include "core/parse.hpp"

namespace autopilot::host {
namespace {

constexpr Duration kLongestProbe = std::chrono::hours{1};

// What is not quoted is a number or a flag where it looks like one.
Value value_of(const YamlNode& node) {
  if (node.quoted) return node.text;
  if (node.text == "true" || node.text == "false") return node.text == "true";
  if (const auto whole = parse_number<std::int64_t>(node.text)) return *whole;
  if (const auto number = parse_number<double>(node.text)) return *number;
  return node.text;
}

// Of a test that has ended, or of one that ends when it is asked for.
enum class Age : unsigned char { told, none };

Observation read_observation(YamlMap map, Instant taken, Age has_age) {
  Observation observation;
  observation.name = map.required_word("name");
  observation.source = map.required_word("source");
  observation.unit = map.word("unit").value_or("");
  observation.missing = map.word("missing").value_or("");
  const std::string subject = map.required_word("subject");
  if (auto parsed = parse_subject(subject))
    observation.subject = *std::move(parsed);
  else if (!subject.empty())
    map.problem(map.line_of("subject"), "`" + subject + "` is no subject");
  if (const YamlNode* value = map.any("value"); value != nullptr && value->kind == YamlNode::Kind::scalar)
    observation.value = value_of(*value);
  if (observation.value.has_value() != observation.missing.empty())
    map.problem(map.line(), observation.name + ": needs either a `value` or `missing`");
  const Duration age = has_age == Age::told ? map.duration("age").value_or(Duration{0}) : Duration{0};
  observation.time = {taken.wall - age, taken.mono - age};
  if (const YamlNode* attributes = map.map("attributes"))
    for (const YamlMember& member : attributes->members)
      observation.attributes.emplace_back(member.key, value_of(member.value));
  return observation;
}

Observations read_observations(YamlMap& map, const char* key, Instant taken, Age has_age) {
  Observations observations;
  if (const YamlNode* list = map.list(key))
    for (const YamlNode& item : list->items)
      observations.push_back(read_observation(map.nested(item, "observation"), taken, has_age));
  return observations;
}

}  // namespace

Result<Observations> read_active_test(YamlMap map, Instant taken) {
  Observations seen = read_observations(map, "seen", taken, Age::told);
  const auto code = map.choice<Errc>("error", parse_errc,
                                     {"unavailable", "unsupported", "timed_out", "denied", "malformed"});
  if (!code) return seen;
  if (!seen.empty()) map.problem(map.line(), "a test has either `seen` or `error`");
  return fail(*code, "the machine tree says so");
}

TreeProbe read_probe(YamlMap map) {
  TreeProbe probe;
  probe.takes = map.duration("takes").value_or(Duration{0});
  if (probe.takes > kLongestProbe) map.problem(map.line_of("takes"), "`takes` must be at most an hour");
  probe.hangs = map.boolean("hangs").value_or(false);
  probe.found = read_observations(map, "found", {}, Age::none);
  return probe;
}

}  // namespace autopilot::host
