// SPDX-License-Identifier: Apache-2.0
#include "host/machine_tree/active_tests.hpp"

#include "core/parse.hpp"

namespace autopilot::host {
namespace {

// What is not quoted is a number or a flag where it looks like one.
Value value_of(const YamlNode& node) {
  if (node.quoted) return node.text;
  if (node.text == "true" || node.text == "false") return node.text == "true";
  if (const auto whole = parse_number<std::int64_t>(node.text)) return *whole;
  if (const auto number = parse_number<double>(node.text)) return *number;
  return node.text;
}

Observation read_observation(YamlMap map, Instant taken) {
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
  const Duration age = map.duration("age").value_or(Duration{0});
  observation.time = {taken.wall - age, taken.mono - age};
  if (const YamlNode* attributes = map.map("attributes"))
    for (const YamlMember& member : attributes->members)
      observation.attributes.emplace_back(member.key, value_of(member.value));
  return observation;
}

}  // namespace

Result<Observations> read_active_test(YamlMap map, Instant taken) {
  Observations seen;
  if (const YamlNode* list = map.list("seen"))
    for (const YamlNode& item : list->items)
      seen.push_back(read_observation(map.nested(item, "observation"), taken));
  const auto code = map.choice<Errc>("error", parse_errc,
                                     {"unavailable", "unsupported", "timed_out", "denied", "malformed"});
  if (!code) return seen;
  if (!seen.empty()) map.problem(map.line(), "a test has either `seen` or `error`");
  return fail(*code, "the machine tree says so");
}

}  // namespace autopilot::host
