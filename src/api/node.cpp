// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <utility>

#include "api/v1.hpp"
#include "api/wire.hpp"

namespace autopilot::api {

namespace {

constexpr std::string_view kSchema = "autopilot.check/v1";

void write_result_members(JsonWriter& out, const CheckResult& result, View view) {
  out.word("check", result.check);
  out.word("health", to_string(result.health));
  out.flag("required", result.required);
  out.words("witnesses", result.witnesses);
  out.number("durationSeconds", to_seconds(result.duration));
  out.time_if_any("completed", result.completed);
  out.begin_list("findings");
  for (const auto& finding : result.findings) {
    out.begin_object();
    write_finding_members(out, finding);
    out.end_object();
  }
  out.end_list();
  if (view.observations) write_observations(out, result.observations.all());
}

CheckResult read_check_result(const JsonObject& object) {
  CheckResult result;
  result.check = object.word("check");
  result.health = object.choice("health", parse_health);
  result.required = object.flag("required");
  result.witnesses = object.words("witnesses");
  result.duration = object.seconds("durationSeconds");
  result.completed = object.time_if_any("completed").value_or(WallTime{});
  result.findings = object.list("findings", read_finding);
  if (object.has("observations")) result.observations = object.list("observations", read_observation);
  return result;
}

void write_coverage(JsonWriter& out, const Coverage& coverage) {
  out.begin_object("coverage");
  out.integer("looked", coverage.looked);
  out.integer("of", coverage.of);
  out.words("missingRights", coverage.missing_rights);
  out.end_object();
}

Coverage read_coverage(const JsonObject& object) {
  Coverage coverage;
  coverage.looked = object.small_integer("looked");
  coverage.of = object.small_integer("of");
  coverage.missing_rights = object.words("missingRights");
  return coverage;
}

void write_cluster(JsonWriter& out, const ClusterStatus& cluster) {
  out.begin_object("cluster");
  out.count("writes", cluster.writes);
  out.count("failures", cluster.failures);
  out.count("eventsDropped", cluster.events_dropped);
  out.word_if_any("problem", cluster.problem);
  out.end_object();
}

ClusterStatus read_cluster(const JsonObject& object) {
  return {object.count("writes"), object.count("failures"), object.count("eventsDropped"),
          object.word_or_empty("problem")};
}

void write_self(JsonWriter& out, const SelfStatus& self) {
  out.begin_object("self");
  out.count("checksRun", self.checks_run);
  out.count("checksLate", self.checks_late);
  out.count("resultsDropped", self.results_dropped);
  out.integer("lanes", self.lanes);
  out.integer("lanesStuck", self.lanes_stuck);
  out.integer("helpersStuck", self.helpers_stuck);
  out.count("kernelRecordsRead", self.kernel_records_read);
  out.count("kernelRecordsLost", self.kernel_records_lost);
  out.count("kernelRecordsMissed", self.kernel_records_missed);
  out.count("driverCalls", self.driver_calls);
  out.number("journalLagSeconds", self.journal_lag_seconds);
  out.count("journalDropped", self.journal_dropped);
  out.flag("journalDurable", self.journal_durable);
  out.word_if_any("journalProblem", self.journal_problem);
  out.count("configurationRefused", self.configuration_refused);
  out.word_if_any("podResourcesProblem", self.pod_resources_problem);
  if (self.cluster) write_cluster(out, *self.cluster);
  out.end_object();
}

SelfStatus read_self(const JsonObject& object) {
  SelfStatus self;
  self.checks_run = object.count("checksRun");
  self.checks_late = object.count("checksLate");
  self.results_dropped = object.count("resultsDropped");
  self.lanes = object.small_integer("lanes");
  self.lanes_stuck = object.small_integer("lanesStuck");
  self.helpers_stuck = object.small_integer("helpersStuck");
  self.kernel_records_read = object.count("kernelRecordsRead");
  self.kernel_records_lost = object.count("kernelRecordsLost");
  self.kernel_records_missed = object.count("kernelRecordsMissed");
  self.driver_calls = object.count("driverCalls");
  self.journal_lag_seconds = object.number("journalLagSeconds");
  self.journal_dropped = object.count("journalDropped");
  self.journal_durable = object.flag("journalDurable");
  self.journal_problem = object.word_or_empty("journalProblem");
  self.configuration_refused = object.count("configurationRefused");
  self.pod_resources_problem = object.word_or_empty("podResourcesProblem");
  if (object.has("cluster")) self.cluster = object.object("cluster", read_cluster);
  return self;
}

std::optional<std::string> parse_schema(std::string_view word) {
  if (word != kSchema) return std::nullopt;
  return std::string(word);
}

NodeSnapshot read_node(const JsonObject& object) {
  static_cast<void>(object.choice("schema", parse_schema));
  NodeSnapshot snapshot;
  snapshot.node = object.word("node");
  snapshot.boot_id = object.word("bootId");
  snapshot.time = object.time("time");
  snapshot.generation = object.count("generation");
  snapshot.simulated = object.flag("simulated");
  snapshot.profile = object.word("profile");
  snapshot.health = object.choice("health", parse_health);
  if (object.has("verdict")) snapshot.verdict = object.choice("verdict", parse_verdict);
  snapshot.coverage = object.object("coverage", read_coverage);
  for (CheckResult& result : object.list("results", read_check_result))
    snapshot.results.push_back(std::move(result));
  snapshot.incidents = object.list("incidents", read_incident);
  snapshot.self = object.object("self", read_self);
  return snapshot;
}

}  // namespace

std::string to_json(const NodeSnapshot& snapshot, View view) {
  JsonWriter out;
  out.begin_object();
  out.word("schema", kSchema);
  out.word("node", snapshot.node);
  out.word("bootId", snapshot.boot_id);
  out.time("time", snapshot.time);
  out.count("generation", snapshot.generation);
  out.flag("simulated", snapshot.simulated);
  out.word("profile", snapshot.profile);
  out.word("health", to_string(snapshot.health));
  if (snapshot.verdict == Verdict::none)
    out.null("verdict");
  else
    out.word("verdict", to_string(snapshot.verdict));
  write_coverage(out, snapshot.coverage);
  out.begin_list("results");
  for (const auto& result : snapshot.results) {
    out.begin_object();
    write_result_members(out, result, view);
    out.end_object();
  }
  out.end_list();
  out.begin_list("incidents");
  for (const auto& incident : snapshot.incidents)
    write_incident(out, incident);
  out.end_list();
  write_self(out, snapshot.self);
  out.end_object();
  return out.take();
}

Result<NodeSnapshot> parse_node(std::string_view json) {
  return read_text(json, read_node);
}

std::string to_json(const CheckResult& result, View view) {
  JsonWriter out;
  out.begin_object();
  out.flag("simulated", view.simulated);
  write_result_members(out, result, view);
  out.end_object();
  return out.take();
}

Result<CheckResult> parse_check_result(std::string_view json) {
  return read_text(json, read_check_result);
}

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
