// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <utility>

#include "api/v1.hpp"
#include "api/wire.hpp"

namespace autopilot::api {

namespace {

void write_summary(JsonWriter& out, const CheckSummary& check) {
  out.begin_object();
  out.word("check", check.info.id);
  out.word("title", check.info.title);
  out.words("tags", check.info.tags);
  out.number("periodSeconds", to_seconds(check.info.period));
  out.number("deadlineSeconds", to_seconds(check.info.deadline));
  out.number("windowSeconds", to_seconds(check.info.window));
  out.word("cost", to_string(check.info.cost));
  out.words("witnesses", check.info.witnesses);
  out.words("rights", check.info.rights);
  out.flag("needsWindow", check.info.needs_window);
  out.flag("required", check.required);
  out.word("health", to_string(check.health));
  out.time_if_any("completed", check.completed);
  out.end_object();
}

CheckSummary read_summary(const JsonObject& object) {
  CheckSummary check;
  check.info.id = object.word("check");
  check.info.title = object.word("title");
  check.info.tags = object.words("tags");
  check.info.period = object.seconds("periodSeconds");
  check.info.deadline = object.seconds("deadlineSeconds");
  check.info.window = object.seconds("windowSeconds");
  check.info.cost = object.choice("cost", parse_cost);
  check.info.witnesses = object.words("witnesses");
  check.info.rights = object.words("rights");
  check.info.needs_window = object.flag("needsWindow");
  check.required = object.flag("required");
  check.health = object.choice("health", parse_health);
  check.completed = object.time_if_any("completed").value_or(WallTime{});
  return check;
}

}  // namespace

std::vector<CheckSummary> summarize(const std::vector<CheckInfo>& checks, const NodeSnapshot& snapshot) {
  std::vector<CheckSummary> summaries;
  for (const auto& info : checks) {
    CheckSummary summary;
    summary.info = info;
    const auto result = std::ranges::find(snapshot.results, info.id, &CheckResult::check);
    if (result != snapshot.results.end()) {
      summary.required = result->required;
      summary.health = result->health;
      summary.completed = result->completed;
    }
    summaries.push_back(std::move(summary));
  }
  return summaries;
}

std::string to_json(const std::vector<CheckSummary>& checks, View view) {
  return write_items(checks, view.simulated, write_summary);
}

Result<std::vector<CheckSummary>> parse_checks(std::string_view json) {
  return read_text(json, read_items<CheckSummary, read_summary>);
}

}  // namespace autopilot::api
