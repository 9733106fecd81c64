// SPDX-License-Identifier: Apache-2.0
#include "api/preflight.hpp"

#include <algorithm>

#include "api/wire.hpp"
#include "core/parse.hpp"
#include "core/word_table.hpp"

namespace autopilot::api {
namespace {

constexpr WordTable<PreflightOutcome, 3> kOutcomes{{{PreflightOutcome::passed, "passed"},
                                                    {PreflightOutcome::failed, "failed"},
                                                    {PreflightOutcome::could_not_look, "could_not_look"}}};
constexpr WordTable<PreflightState, 6> kStates{{{PreflightState::waiting, "waiting"},
                                                {PreflightState::running, "running"},
                                                {PreflightState::fresh, "fresh"},
                                                {PreflightState::passed, "passed"},
                                                {PreflightState::failed, "failed"},
                                                {PreflightState::could_not_look, "could_not_look"}}};

bool is_test_id(const std::string& text) {
  return !text.empty() && text.size() <= PreflightRequest::kLongestTest &&
         std::ranges::all_of(text, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
         });
}

PreflightRequest read_request(const JsonObject& object) {
  object.has_only({"tests", "deadlineSeconds"});
  PreflightRequest request;
  if (object.has("tests")) request.tests = object.words("tests");
  if (object.has("deadlineSeconds")) request.deadline = object.seconds("deadlineSeconds");
  return request;
}

Status check(const PreflightRequest& request) {
  if (request.tests.size() > PreflightRequest::kMostTests)
    return fail(Errc::malformed, "tests: at most " + std::to_string(PreflightRequest::kMostTests));
  for (const std::string& id : request.tests) {
    if (!is_test_id(id))
      return fail(Errc::malformed, "tests: expected ids such as gpu.pcie_bandwidth, not '" +
                                       to_printable(id, PreflightRequest::kLongestTest) + "'");
    if (std::ranges::count(request.tests, id) > 1) return fail(Errc::malformed, "tests: duplicate id " + id);
  }
  if (request.deadline &&
      (*request.deadline < std::chrono::seconds{1} || *request.deadline > PreflightRequest::kLongestDeadline))
    return fail(Errc::malformed,
                "deadlineSeconds: expected 1 to " +
                    std::to_string(static_cast<int>(to_seconds(PreflightRequest::kLongestDeadline))));
  return {};
}

void write_tests(JsonWriter& out, const std::vector<PreflightTest>& tests) {
  out.begin_list("tests");
  for (const PreflightTest& test : tests) {
    out.begin_object();
    out.word("id", test.id);
    out.word("state", to_string(test.state));
    out.word_if_any("message", test.message);
    if (test.age) out.number("ageSeconds", to_seconds(*test.age));
    out.end_object();
  }
  out.end_list();
}

void write_left_out(JsonWriter& out, const std::vector<PreflightLeftOut>& left_out) {
  if (left_out.empty()) return;
  out.begin_list("leftOut");
  for (const PreflightLeftOut& one : left_out) {
    out.begin_object();
    out.word("id", one.id);
    out.word("message", one.why);
    out.end_object();
  }
  out.end_list();
}

PreflightTest read_preflight_test(const JsonObject& object) {
  PreflightTest test;
  test.id = object.word("id");
  test.state = object.choice("state", parse_preflight_state);
  test.message = object.word_or_empty("message");
  if (object.has("ageSeconds")) test.age = object.seconds("ageSeconds");
  return test;
}

PreflightLeftOut read_preflight_left_out(const JsonObject& object) {
  return {object.word("id"), object.word("message")};
}

PreflightProgress read_progress(const JsonObject& object) {
  PreflightProgress progress;
  progress.node = object.word("node");
  progress.message = object.word("message");
  progress.tests = object.list("tests", read_preflight_test);
  if (object.has("waitSeconds")) progress.wait = object.seconds("waitSeconds");
  return progress;
}

PreflightResult read_preflight_result(const JsonObject& object) {
  PreflightResult result;
  result.outcome = object.choice("outcome", parse_preflight_outcome);
  result.may_start = object.flag("mayStart");
  result.node = object.word("node");
  result.fresh = object.words("fresh");
  result.tests = object.list("tests", read_preflight_test);
  result.gpus = object.words("gpus");
  result.report = object.word_or_empty("report");
  result.message = object.word("message");
  result.choice = object.word_or_empty("choice");
  if (object.has("leftOut")) result.left_out = object.list("leftOut", read_preflight_left_out);
  result.simulated = object.flag_or_false("simulated");
  result.is_durable = !object.has("durable") || object.flag("durable");
  return result;
}

}  // namespace

std::string_view to_string(PreflightOutcome outcome) {
  return word_of(kOutcomes, outcome);
}

std::optional<PreflightOutcome> parse_preflight_outcome(std::string_view word) {
  return value_of(kOutcomes, word);
}

std::string_view to_string(PreflightState state) {
  return word_of(kStates, state);
}

std::optional<PreflightState> parse_preflight_state(std::string_view word) {
  return value_of(kStates, word);
}

std::string to_json(const PreflightRequest& request) {
  JsonWriter out;
  out.begin_object();
  out.words("tests", request.tests);
  if (request.deadline) out.number("deadlineSeconds", to_seconds(*request.deadline));
  out.end_object();
  return out.take();
}

Result<PreflightRequest> parse_preflight_request(std::string_view json) {
  auto request = TRY(read_text(json, read_request));
  TRY_STATUS(check(request));
  return request;
}

std::string to_json(const PreflightProgress& progress) {
  JsonWriter out;
  out.begin_object();
  out.word("node", progress.node);
  out.word("message", progress.message);
  write_tests(out, progress.tests);
  if (progress.wait) out.number("waitSeconds", to_seconds(*progress.wait));
  out.end_object();
  return out.take();
}

Result<PreflightProgress> parse_preflight_progress(std::string_view json) {
  return read_text(json, read_progress);
}

std::string to_json(const PreflightResult& result) {
  JsonWriter out;
  out.begin_object();
  out.word("outcome", to_string(result.outcome));
  out.flag("mayStart", result.may_start);
  out.word("node", result.node);
  out.words("fresh", result.fresh);
  write_tests(out, result.tests);
  out.words("gpus", result.gpus);
  out.word_if_any("report", result.report);
  out.word("message", result.message);
  out.word_if_any("choice", result.choice);
  write_left_out(out, result.left_out);
  out.flag("simulated", result.simulated);
  out.flag("durable", result.is_durable);
  out.end_object();
  return out.take();
}

Result<PreflightResult> parse_preflight_result(std::string_view json) {
  return read_text(json, read_preflight_result);
}

}  // namespace autopilot::api
