// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <utility>

#include "api/v1.hpp"
#include "api/wire.hpp"

namespace autopilot::api {

namespace {

void write_members(JsonWriter& out, const CheckInfo& check) {
  out.word("check", check.id);
  out.word("title", check.title);
  out.words("tags", check.tags);
  out.number("periodSeconds", to_seconds(check.period));
  out.number("deadlineSeconds", to_seconds(check.deadline));
  out.number("windowSeconds", to_seconds(check.window));
  out.word("cost", to_string(check.cost));
  out.words("witnesses", check.witnesses);
  out.words("rights", check.rights);
  out.flag("needsWindow", check.needs_window);
}

void write_info(JsonWriter& out, const CheckInfo& check) {
  out.begin_object();
  write_members(out, check);
  out.end_object();
}

void write_summary(JsonWriter& out, const CheckSummary& check) {
  out.begin_object();
  write_members(out, check.info);
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

void write_test(JsonWriter& out, const TestInfo& test) {
  out.begin_object();
  out.word("id", test.id);
  out.word("title", test.title);
  out.number("deadlineSeconds", to_seconds(test.deadline));
  out.end_object();
}

TestInfo read_test_info(const JsonObject& object) {
  return {object.word("id"), object.word("title"), object.seconds("deadlineSeconds")};
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

std::string to_json(const std::vector<CheckInfo>& checks, View view) {
  return write_items(checks, view.simulated, write_info);
}

std::string to_json(const std::vector<CheckSummary>& checks, View view) {
  return write_items(checks, view.simulated, write_summary);
}

Result<std::vector<CheckSummary>> parse_checks(std::string_view json) {
  return read_text(json, read_items<CheckSummary, read_summary>);
}

std::string to_json(const std::vector<TestInfo>& tests, View view) {
  return write_items(tests, view.simulated, write_test);
}

Result<std::vector<TestInfo>> parse_tests(std::string_view json) {
  return read_text(json, read_items<TestInfo, read_test_info>);
}

}  // namespace autopilot::api
