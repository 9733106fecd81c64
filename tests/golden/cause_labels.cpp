// SPDX-License-Identifier: Apache-2.0
#include "golden/cause_labels.hpp"

#include "core/parse.hpp"
#include "core/yaml.hpp"

namespace autopilot::golden {
namespace {

std::vector<std::string> words(YamlMap& map, const char* key) {
  const YamlNode* node = map.any(key);
  if (node == nullptr) return {};
  if (node->kind == YamlNode::Kind::scalar) return {node->text};
  std::vector<std::string> list;
  for (const YamlNode& item : node->items)
    list.push_back(item.text);
  return list;
}

// [3, 7-9]
std::vector<int> lines(YamlMap& map, const char* key) {
  std::vector<int> numbers;
  for (const std::string& word : words(map, key)) {
    const auto dash = word.find('-');
    const auto first = parse_number<int>(word.substr(0, dash));
    const auto last = dash == std::string::npos ? first : parse_number<int>(word.substr(dash + 1));
    if (!first || !last) {
      map.problem(map.line_of(key), "not a line: " + word);
      continue;
    }
    for (int line = *first; line <= *last; ++line)
      numbers.push_back(line);
  }
  return numbers;
}

ExpectedIncident read_incident(const YamlNode& node, YamlProblems& problems) {
  YamlMap map(node, "incident", problems);
  ExpectedIncident incident;
  incident.families = words(map, "family");
  incident.ends = words(map, "end");
  incident.blamed = words(map, "blamed");
  incident.health = words(map, "health");
  incident.subject = map.word("subject").value_or("");
  incident.lines = lines(map, "lines");
  incident.consequences = lines(map, "consequences");
  incident.with = lines(map, "with");
  incident.at_end = map.word("at_end").value_or("");
  incident.is_optional = map.boolean("optional").value_or(false);
  incident.joins = map.boolean("joins").value_or(false);
  if (incident.families.empty() || incident.ends.empty() || incident.blamed.empty() ||
      incident.health.empty() || incident.lines.empty() == incident.subject.empty())
    map.problem(map.line(), "an incident needs family, end, blamed, health, and lines or subject");
  return incident;
}

Storm read_storm(const YamlNode& node, YamlProblems& problems) {
  YamlMap map(node, "storm", problems);
  Storm storm;
  storm.code = static_cast<int>(map.required_integer("code"));
  storm.lines = static_cast<std::size_t>(map.required_integer("lines"));
  storm.over = map.duration("over").value_or(Duration{0});
  storm.gpus = map.required_words("gpus");
  storm.pid = map.required_integer("pid");
  return storm;
}

}  // namespace

Result<Labels> parse_labels(const std::string& text, const std::string& file) {
  YamlProblems problems(file);
  const YamlNode document = parse_yaml(text, problems);
  TRY_STATUS(problems.status());
  Labels labels;
  {
    YamlMap map(document, "labels", problems);
    labels.is_held_out = map.required_word("set") == "held_out";
    (void)map.required_word("source");
    (void)map.required_word("why");
    labels.node = words(map, "node");
    labels.noise = lines(map, "noise");
    if (const YamlNode* storm = map.map("storm")) labels.storm = read_storm(*storm, problems);
    if (const YamlNode* list = map.list("incidents"))
      for (const YamlNode& item : list->items)
        labels.incidents.push_back(read_incident(item, problems));
  }
  TRY_STATUS(problems.status());
  return labels;
}

bool is_held_out(const std::string& scenario) {
  std::uint32_t hash = 0x811c9dc5;
  for (const char c : scenario)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x01000193;
  return hash % 3 == 0;
}

}  // namespace autopilot::golden
