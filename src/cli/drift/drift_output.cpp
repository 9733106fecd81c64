// SPDX-License-Identifier: Apache-2.0
#include "cli/drift/drift_output.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <string_view>
#include <utility>

#include "cli/output/layout.hpp"

namespace autopilot::cli {
namespace {

namespace json = boost::json;
using drift::Comparison;
using drift::RowResult;

std::string counted_facts(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " fact" : " facts");
}

std::string_view word_of(RowResult result) {
  switch (result) {
    case RowResult::differs:
      return "differs";
    case RowResult::missing:
      return "missing";
    case RowResult::as_expected:
      break;
  }
  return "as expected";
}

// "1 differs", "2 differ"
std::string counted_differences(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " differs" : " differ");
}

json::array words_json(const std::vector<std::string>& words) {
  return json::array(words.begin(), words.end());
}

}  // namespace

std::size_t RecipeReport::count(RowResult result) const {
  return static_cast<std::size_t>(std::ranges::count(comparisons, result, &Comparison::result));
}

std::string render_facts(const drift::FactSet& facts, const TableStyle& style) {
  std::vector<Row> rows;
  for (const auto& [key, fact] : facts.facts)
    rows.push_back({{key}, {fact.value}});
  std::string text = printable(facts.node) + "  " + facts.time + "\n\n" +
                     render_columns({"FACT", "VALUE"}, std::move(rows), style);
  for (const auto& [key, reason] : facts.missing)
    for (const std::string& line : wrapped(printable("Not read: " + key + ": " + reason), style.width))
      text += line + "\n";
  return text;
}

std::string render_report(const RecipeReport& report, const TableStyle& style) {
  const std::size_t differing = report.count(RowResult::differs);
  const std::size_t missing = report.count(RowResult::missing);
  std::string text = printable(report.node) + ": " + counted_facts(report.comparisons.size()) + " compared, ";
  if (differing == 0 && missing == 0) return text + "no drift\n";
  text += counted_differences(differing) + ", " + std::to_string(missing) + " could not be read\n";
  std::vector<Row> differences;
  std::vector<Row> not_read;
  for (const Comparison& one : report.comparisons)
    if (one.result == RowResult::differs)
      differences.push_back({{one.key}, {one.found, color_of(Health::failed)}, {one.expected}});
    else if (one.result == RowResult::missing)
      not_read.push_back({{one.key}, {one.reason.empty() ? "the machine does not report it" : one.reason}});
  if (!differences.empty())
    text += "\n" + render_columns({"FACT", "FOUND", "EXPECTED"}, std::move(differences), style);
  if (!not_read.empty()) text += "\n" + render_columns({"NOT READ", "REASON"}, std::move(not_read), style);
  return text;
}

std::string render_siblings(const drift::SiblingReport& report, std::size_t nodes, const TableStyle& style) {
  std::string text = std::to_string(nodes) + " nodes, " + counted_facts(report.compared) + " known to all: ";
  text +=
      report.differences.empty() ? "no differences\n" : counted_differences(report.differences.size()) + "\n";
  std::vector<Row> rows;
  for (const drift::SiblingDifference& difference : report.differences) {
    bool is_first = true;
    for (const drift::SharedValue& value : difference.values) {
      const bool is_majority = is_first && difference.has_majority;
      const std::string mark = is_majority               ? "majority"
                               : difference.has_majority ? "differs"
                               : is_first                ? "no majority"
                                                         : "";
      rows.push_back({{is_first ? difference.key : ""},
                      {value.value},
                      {mark, mark == "differs" ? color_of(Health::failed) : std::string_view{}},
                      {std::to_string(value.nodes.size()) + ": " + joined(value.nodes)}});
      is_first = false;
    }
  }
  if (!rows.empty()) text += "\n" + render_columns({"FACT", "VALUE", "", "NODES"}, std::move(rows), style);
  if (nodes < drift::kLeastForMajority && !report.differences.empty())
    text += "\nWith fewer than " + std::to_string(drift::kLeastForMajority) +
            " nodes no value counts as that of the majority.\n";
  std::vector<Row> unknown;
  for (const drift::UnknownFact& fact : report.unknown)
    unknown.push_back({{fact.key}, {joined(fact.nodes)}});
  if (!unknown.empty()) text += "\n" + render_columns({"NOT READ", "NODES"}, std::move(unknown), style);
  return text;
}

std::string facts_json(const drift::FactSet& facts) {
  json::object list;
  for (const auto& [key, fact] : facts.facts)
    list[key] = json::object{{"value", fact.value}, {"source", fact.source}};
  json::object missing;
  for (const auto& [key, reason] : facts.missing)
    missing[key] = reason;
  return json::serialize(json::object{{"node", facts.node},
                                      {"time", facts.time},
                                      {"facts", std::move(list)},
                                      {"missing", std::move(missing)}});
}

std::string reports_json(const std::vector<RecipeReport>& reports) {
  json::array nodes;
  for (const RecipeReport& report : reports) {
    json::array rows;
    for (const Comparison& one : report.comparisons) {
      json::object row{
          {"fact", one.key}, {"result", word_of(one.result)}, {"expected", one.expected}, {"line", one.line}};
      if (one.result == RowResult::missing)
        row["reason"] = one.reason;
      else
        row["found"] = one.found;
      if (!one.source.empty()) row["source"] = one.source;
      rows.push_back(std::move(row));
    }
    nodes.push_back(json::object{{"node", report.node},
                                 {"recipe", report.recipe},
                                 {"differ", report.count(RowResult::differs)},
                                 {"missing", report.count(RowResult::missing)},
                                 {"facts", std::move(rows)}});
  }
  return json::serialize(json::object{{"nodes", std::move(nodes)}});
}

std::string siblings_json(const drift::SiblingReport& report, std::size_t nodes) {
  json::array differences;
  for (const drift::SiblingDifference& difference : report.differences) {
    json::array values;
    for (const drift::SharedValue& value : difference.values)
      values.push_back(json::object{{"value", value.value}, {"nodes", words_json(value.nodes)}});
    json::object one{{"fact", difference.key}, {"values", std::move(values)}};
    if (difference.has_majority) one["majority"] = difference.values.front().value;
    differences.push_back(std::move(one));
  }
  json::array unknown;
  for (const drift::UnknownFact& fact : report.unknown)
    unknown.push_back(json::object{{"fact", fact.key}, {"nodes", words_json(fact.nodes)}});
  return json::serialize(json::object{{"nodes", nodes},
                                      {"compared", report.compared},
                                      {"differences", std::move(differences)},
                                      {"unknown", std::move(unknown)}});
}

}  // namespace autopilot::cli
