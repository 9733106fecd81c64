// SPDX-License-Identifier: Apache-2.0
#include "drift/recipe.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "core/parse.hpp"
#include "core/text.hpp"
#include "core/yaml.hpp"

namespace autopilot::drift {
namespace {

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

bool is_letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0;
}

// The next run of digits or of letters; empty at the end. Other characters separate parts.
std::string_view take_part(std::string_view& rest) {
  while (!rest.empty() && !is_digit(rest.front()) && !is_letter(rest.front()))
    rest.remove_prefix(1);
  if (rest.empty()) return {};
  const auto is_same_kind = [digits = is_digit(rest.front())](char c) {
    return digits ? is_digit(c) : is_letter(c);
  };
  const auto end = std::ranges::find_if_not(rest, is_same_kind);
  const std::string_view part = rest.substr(0, static_cast<std::size_t>(end - rest.begin()));
  rest.remove_prefix(part.size());
  return part;
}

std::string_view without_zeros(std::string_view digits) {
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  return digits;
}

std::strong_ordering compare_parts(std::string_view a, std::string_view b) {
  const bool a_is_number = !a.empty() && is_digit(a.front());
  const bool b_is_number = !b.empty() && is_digit(b.front());
  if (a_is_number != b_is_number) return a_is_number <=> b_is_number;
  if (!a_is_number) return a <=> b;
  a = without_zeros(a);
  b = without_zeros(b);
  return a.size() != b.size() ? a.size() <=> b.size() : a <=> b;
}

std::string number_text(double number) {
  if (number == std::floor(number) && std::abs(number) < 1e15)
    return std::to_string(static_cast<long long>(number));
  std::string text = std::to_string(number);
  text.erase(text.find_last_not_of('0') + 1);
  return text;
}

// "gpu.*.vbios" instead of its parts, for the nearest key.
std::vector<std::string> known_keys() {
  std::vector<std::string> keys;
  for (const FactFamily& family : fact_families())
    keys.emplace_back(family.key);
  return keys;
}

void read_expected_map(YamlMap& map, const YamlNode& node, RecipeRow& row, YamlProblems& problems) {
  Expected& expected = row.expected;
  expected.from = map.number("from");
  expected.to = map.number("to");
  expected.min_version = map.word("min_version").value_or("");
  expected.is_any = map.boolean("any").value_or(false);
  const int kinds = static_cast<int>(expected.from || expected.to) +
                    static_cast<int>(!expected.min_version.empty()) + static_cast<int>(expected.is_any);
  if (kinds != 1)
    problems.add(node.line,
                 "`" + row.key + "`: expected one of: a range (`from`, `to`), `min_version`, or `any: true`");
  if (expected.from && expected.to && *expected.from > *expected.to)
    problems.add(node.line, "`" + row.key + "`: `from` is greater than `to`");
}

void read_row(YamlMap& facts, const YamlMember& member, Recipe& recipe, YamlProblems& problems) {
  const YamlNode* node = facts.any(member.key);
  RecipeRow row{.key = member.key, .expected = {}, .line = member.line};
  if (family_of(member.key) == nullptr) {
    const auto near = nearest_word(member.key, known_keys());
    problems.add(member.line, "`" + member.key.substr(0, 80) + "`: no such fact exists" +
                                  (near ? "; did you mean `" + *near + "`?" : " (docs/drift.md lists them)"));
    return;
  }
  switch (node == nullptr ? YamlNode::Kind::null : node->kind) {
    case YamlNode::Kind::scalar:
      row.expected.one_of.push_back(node->text);
      break;
    case YamlNode::Kind::list:
      row.expected.one_of = facts.words(member.key).value_or(std::vector<std::string>{});
      if (node->items.empty()) problems.add(member.line, "`" + member.key + "`: the list is empty");
      break;
    case YamlNode::Kind::map: {
      YamlMap map = facts.nested(*node, member.key);
      read_expected_map(map, *node, row, problems);
      break;
    }
    case YamlNode::Kind::null:
      problems.add(member.line, "`" + member.key + "`: expected a value, a list or a map");
      break;
  }
  recipe.rows.push_back(std::move(row));
}

Comparison compared(const std::string& key, const std::string& value, const std::string& source,
                    const RecipeRow& row) {
  return {.key = key,
          .found = value,
          .expected = describe(row.expected),
          .result = accepts(row.expected, value) ? RowResult::as_expected : RowResult::differs,
          .line = row.line,
          .source = source,
          .reason = {}};
}

void add_selected(const FactSet& facts, const RecipeRow& row, std::vector<Comparison>& all) {
  const std::size_t before = all.size();
  if (row.key.find('*') == std::string::npos) {
    const auto fact = facts.facts.find(row.key);
    if (const auto value = facts.value_of(row.key))
      all.push_back(compared(row.key, *value, fact == facts.facts.end() ? "" : fact->second.source, row));
  } else {
    for (const auto& [key, fact] : facts.facts)
      if (matches(row.key, key)) all.push_back(compared(key, fact.value, fact.source, row));
  }
  if (all.size() > before) return;
  all.push_back({.key = row.key,
                 .found = {},
                 .expected = describe(row.expected),
                 .result = RowResult::missing,
                 .line = row.line,
                 .source = {},
                 .reason = facts.reason_of(row.key)});
}

}  // namespace

std::strong_ordering compare_versions(std::string_view a, std::string_view b) {
  while (true) {
    const std::string_view first = take_part(a);
    const std::string_view second = take_part(b);
    if (first.empty() || second.empty()) return first.size() <=> second.size();
    if (const auto order = compare_parts(first, second); order != std::strong_ordering::equal) return order;
  }
}

std::string describe(const Expected& expected) {
  if (expected.is_any) return "any value";
  if (!expected.min_version.empty()) return "version " + expected.min_version + " or newer";
  if (expected.from && expected.to) return number_text(*expected.from) + " to " + number_text(*expected.to);
  if (expected.from) return number_text(*expected.from) + " or more";
  if (expected.to) return number_text(*expected.to) + " or less";
  std::string text;
  for (const std::string& value : expected.one_of)
    text += (text.empty() ? "" : ", ") + value;
  return expected.one_of.size() > 1 ? "one of " + text : text;
}

bool accepts(const Expected& expected, std::string_view value) {
  if (expected.is_any) return value != kAbsent;
  if (!expected.min_version.empty())
    return value != kAbsent && compare_versions(value, expected.min_version) >= 0;
  if (expected.from || expected.to) {
    if (value == "unlimited") return !expected.to;
    const auto number = parse_number<double>(value);
    return number && (!expected.from || *number >= *expected.from) &&
           (!expected.to || *number <= *expected.to);
  }
  return std::ranges::find(expected.one_of, value) != expected.one_of.end();
}

Result<Recipe> parse_recipe(std::string_view text, std::string_view name) {
  YamlProblems problems{std::string(name)};
  const YamlNode root = parse_yaml(text, problems);
  TRY_STATUS(problems.status());
  Recipe recipe;
  {
    YamlMap top(root, "recipe", problems);
    recipe.name = top.word("name").value_or("");
    const YamlNode* facts = top.map("facts");
    if (facts == nullptr || facts->members.empty()) {
      problems.add(root.line, "`facts` is missing: expected a map of facts and what is expected of them");
    } else if (facts->members.size() > Recipe::kMaxRows) {
      problems.add(facts->line, "`facts`: expected at most " + std::to_string(Recipe::kMaxRows));
    } else {
      YamlMap map = top.nested(*facts, "facts");
      for (const YamlMember& member : facts->members)
        read_row(map, member, recipe, problems);
    }
  }
  TRY_STATUS(problems.status());
  return recipe;
}

std::vector<Comparison> compare(const FactSet& facts, const Recipe& recipe) {
  std::vector<Comparison> all;
  for (const RecipeRow& row : recipe.rows)
    add_selected(facts, row, all);
  return all;
}

}  // namespace autopilot::drift
