// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/diagnosis.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <utility>

#include "cli/output/layout.hpp"

namespace autopilot::cli {
namespace {

constexpr std::size_t kStateWidth = 9;
constexpr std::size_t kTopicWidth = 20;
constexpr std::size_t kMostNamed = 4;

std::string_view color_of_state(RowState state) {
  if (state == RowState::problem) return color_of(Health::failed);
  if (state == RowState::limited) return color_of(Health::degraded);
  return color_of(Health::healthy);
}

// The texts below each other, right of the state and the topic.
std::string row_text(const DoctorRow& row, const TableStyle& style) {
  const std::string indent(kStateWidth + kTopicWidth, ' ');
  std::string text = painted(padded(to_string(row.state), kStateWidth), color_of_state(row.state), style) +
                     padded(printable(row.topic), kTopicWidth);
  bool is_first = true;
  const auto add = [&](const std::string& part) {
    for (const std::string& line : wrapped(printable(part), style.width - indent.size())) {
      text += (is_first ? "" : indent) + line + "\n";
      is_first = false;
    }
  };
  add(row.what);
  if (!row.adds.empty()) add("adds: " + row.adds);
  if (!row.command.empty()) add("how: " + row.command);
  return text;
}

std::string summary_of(const Diagnosis& diagnosis) {
  const auto count = [&](RowState state) {
    return std::ranges::count(diagnosis.rows, state, &DoctorRow::state);
  };
  if (state_of(diagnosis) == RowState::ok) return "Nothing is missing.";
  return std::to_string(count(RowState::problem)) + " with a problem, " +
         std::to_string(count(RowState::limited)) + " limited, " + std::to_string(count(RowState::ok)) +
         " ok.";
}

}  // namespace

std::string_view to_string(RowState state) {
  switch (state) {
    case RowState::limited:
      return "limited";
    case RowState::problem:
      return "problem";
    case RowState::not_applicable:
      return "not applicable";
    case RowState::ok:
      break;
  }
  return "ok";
}

RowState state_of(const Diagnosis& diagnosis) {
  RowState worst = RowState::ok;
  for (const DoctorRow& row : diagnosis.rows)
    if (row.state != RowState::not_applicable) worst = std::max(worst, row.state);
  return worst;
}

std::vector<RightUse> uses_of_rights(std::span<const CheckInfo> checks, const CheckResults& results) {
  std::vector<RightUse> uses;
  for (const CheckInfo& check : checks) {
    const auto result =
        std::ranges::find_if(results, [&check](const CheckResult& one) { return one.check == check.id; });
    if (result != results.end() && (*result).health == Health::unsupported) continue;
    for (const std::string& right : check.rights) {
      auto use = std::ranges::find(uses, right, &RightUse::right);
      if (use == uses.end()) use = uses.insert(uses.end(), {right, {}});
      use->checks.push_back(check.id);
    }
  }
  std::ranges::stable_sort(
      uses, [](const RightUse& a, const RightUse& b) { return a.checks.size() > b.checks.size(); });
  return uses;
}

std::string added_checks(const std::vector<std::string>& checks) {
  std::string text =
      std::to_string(checks.size()) + (checks.size() == 1 ? " check sees" : " checks see") + " more: ";
  const std::size_t named = std::min(checks.size(), kMostNamed);
  text += joined({checks.begin(), checks.begin() + static_cast<std::ptrdiff_t>(named)});
  return named < checks.size() ? text + ", ..." : text;
}

std::string render_diagnosis(const Diagnosis& diagnosis, const TableStyle& style) {
  std::string text = simulated_line(diagnosis.is_simulated, style);
  text += printable(diagnosis.node) + "  autopilot " + diagnosis.version + "\n\n";
  std::vector<std::string> not_applicable;
  for (const DoctorRow& row : diagnosis.rows)
    if (row.state == RowState::not_applicable)
      not_applicable.push_back(row.topic);
    else
      text += row_text(row, style);
  if (!not_applicable.empty())
    for (const std::string& line :
         wrapped("Not applicable here: " + printable(joined(not_applicable)), style.width))
      text += line + "\n";
  return text + "\n" + summary_of(diagnosis) + "\n";
}

std::string diagnosis_json(const Diagnosis& diagnosis) {
  namespace json = boost::json;
  json::array rows;
  for (const DoctorRow& row : diagnosis.rows) {
    json::object one{{"topic", row.topic}, {"state", to_string(row.state)}, {"what", row.what}};
    if (!row.adds.empty()) one["adds"] = row.adds;
    if (!row.command.empty()) one["command"] = row.command;
    if (!row.checks.empty()) one["checks"] = json::array(row.checks.begin(), row.checks.end());
    rows.push_back(std::move(one));
  }
  return json::serialize(json::object{{"node", diagnosis.node},
                                      {"version", diagnosis.version},
                                      {"simulated", diagnosis.is_simulated},
                                      {"state", to_string(state_of(diagnosis))},
                                      {"rows", std::move(rows)}});
}

}  // namespace autopilot::cli
