// SPDX-License-Identifier: Apache-2.0
#include "api/v1.hpp"

#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <set>
#include <sstream>
#include <string>

#include "core/action.hpp"
#include "core/event.hpp"
#include "core/health.hpp"
#include "core/incident.hpp"
#include "core/operation.hpp"
#include "core/result.hpp"
#include "core/subject.hpp"
#include "core/yaml.hpp"
#include "tests/paths/paths.hpp"
#include "tests/support/api/test_samples.hpp"

namespace autopilot::api {

namespace {

using namespace autopilot::api::testing;
using ::testing::HasSubstr;
using ::testing::Not;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from << " in " << text;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

std::string v1_problem_of(const std::string& json) {
  const auto node = parse_node(json);
  EXPECT_FALSE(node);
  if (node) return "";
  EXPECT_EQ(node.error().code, Errc::malformed);
  return node.error().what;
}

// Writing what was read gives the same text: nothing was lost, nothing changed its type.
TEST(ApiV1, every_object_comes_back_as_it_was_written) {
  const auto same = [](const std::string& json, const auto& parsed, const auto& write) {
    ASSERT_TRUE(parsed) << parsed.error().what;
    EXPECT_EQ(write(*parsed), json);
  };
  const auto plain = [](const auto& object) { return to_json(object); };
  for (const auto& node : {sample_node(), sample_empty_node()}) {
    const auto json = to_json(node);
    same(json, parse_node(json), plain);
  }
  const auto result = to_json(sample_result());
  same(result, parse_check_result(result), plain);
  const auto incident = to_json(sample_incident());
  same(incident, parse_incident(incident), plain);
  const auto incidents = to_json(std::vector{sample_incident(), Incident{}});
  same(incidents, parse_incidents(incidents), plain);
  const auto operation = to_json(sample_operation());
  same(operation, parse_operation(operation), plain);
  const auto operations = to_json(std::vector{sample_operation(), Operation{}});
  same(operations, parse_operations(operations), plain);
  const auto event = to_json(sample_event());
  same(event, parse_event(event), plain);
  const auto events = to_json(std::vector{sample_event(), Event{}});
  same(events, parse_events(events), plain);
  const auto checks = to_json(std::vector{sample_check(), CheckSummary{}});
  same(checks, parse_checks(checks), plain);
  const auto tests = to_json(std::vector{sample_test(), TestInfo{}});
  same(tests, parse_tests(tests), plain);
  const auto operation_request = to_json(sample_operation_request());
  same(operation_request, parse_operation_request(operation_request), plain);
  const auto inject_request = to_json(sample_inject_request());
  same(inject_request, parse_inject_request(inject_request), plain);
  const auto acknowledge_request = to_json(AcknowledgeRequest{"the card is ordered"});
  same(acknowledge_request, parse_acknowledge_request(acknowledge_request), plain);
  const auto receipt = to_json(Receipt{"7", true});
  same(receipt, parse_receipt(receipt), plain);
}

TEST(ApiV1, values_keep_their_kind) {
  const auto node = parse_node(to_json(sample_node()));
  ASSERT_TRUE(node);
  const auto& written = sample_observations();
  const auto& read = node->results[0].observations;
  ASSERT_EQ(read.size(), written.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].value, written[i].value) << written[i].name;
    EXPECT_EQ(read[i].sequence, written[i].sequence);
    EXPECT_EQ(read[i].attributes, written[i].attributes);
    EXPECT_EQ(read[i].missing, written[i].missing);
  }
  EXPECT_EQ(node->results[0].findings[0].evidence, sample_finding().evidence);
  EXPECT_EQ(node->results[0].duration, sample_result().duration);
}

TEST(ApiV1, the_node_has_the_members_of_the_contract) {
  auto node = sample_node();
  node.results = {sample_result()};
  node.results[0].findings[0].injected = false;
  node.results[0].findings[0].held = false;
  node.results[0].findings[0].evidence = {{"value", Value(std::int64_t{1})}};
  node.incidents.clear();
  const auto json = to_json(node, View{.observations = false});
  EXPECT_THAT(json, HasSubstr(R"({"schema":"autopilot.check/v1","node":"node-1","bootId":"0a1b2c3d-)"));
  EXPECT_THAT(json, HasSubstr(R"("time":"2025-11-21T03:04:05.678Z")"));
  EXPECT_THAT(json, HasSubstr(R"("simulated":true)"));
  EXPECT_THAT(json, HasSubstr(R"("health":"degraded","verdict":"WARN","coverage":{"looked":14,"of":15,)"));
  EXPECT_THAT(
      json,
      HasSubstr(
          R"("findings":[{"subject":{"kind":"gpu","key":"0000:3b:00.0","index":3,"uuid":"GPU-8e1fa1b0-)"));
  EXPECT_THAT(json, HasSubstr(R"("health":"degraded","reason":"row_remap_pending","message":"GPU 3 waits)"));
  EXPECT_THAT(
      json,
      HasSubstr(
          R"("evidence":{"value":1},"action":"drain_then_reset_gpu","since":"2025-11-21T03:03:05.678Z",)"
          R"("lastSeen":"2025-11-21T03:04:04.678Z","clearsWhen":"when the GPU is reset or the machine reboots"})"));
  EXPECT_THAT(json, Not(HasSubstr("observations")));
  EXPECT_THAT(to_json(sample_empty_node()), HasSubstr(R"("verdict":null)"));
}

TEST(ApiV1, lists_and_single_results_say_that_the_machine_is_simulated) {
  EXPECT_THAT(to_json(std::vector<Incident>{}, View{.simulated = true}),
              HasSubstr(R"({"simulated":true,"items":[]})"));
  EXPECT_THAT(to_json(sample_result(), View{.observations = false, .simulated = true}),
              HasSubstr(R"({"simulated":true,"check":)"));
}

TEST(ApiV1, an_event_says_whether_it_is_durable) {
  Event event = testing::sample_event();
  event.durable = false;
  const std::string text = to_json(event);
  EXPECT_THAT(text, HasSubstr(R"("durable":false)"));
  EXPECT_FALSE(parse_event(text)->durable);
  EXPECT_TRUE(parse_event(to_json(testing::sample_event()))->durable);
}

TEST(ApiV1, answers_to_a_change_say_whether_it_is_durable) {
  EXPECT_THAT(to_json(sample_incident(), false), HasSubstr(R"("durable":false})"));
  EXPECT_THAT(to_json(sample_operation(), true), HasSubstr(R"("durable":true})"));
  EXPECT_THAT(to_json(sample_operation()), Not(HasSubstr("durable")));
}

TEST(ApiV1, what_is_not_a_number_is_missing_and_never_written) {
  auto result = sample_result();
  auto observations = sample_observations();
  observations[1].value = std::numeric_limits<double>::quiet_NaN();
  observations[0].value = -std::numeric_limits<double>::infinity();
  result.observations = observations;
  result.findings[0].evidence = {{"value", Value(std::numeric_limits<double>::infinity())}};
  const auto json = to_json(result);
  EXPECT_THAT(json, Not(HasSubstr("nan")));
  EXPECT_THAT(json, Not(HasSubstr("inf")));
  EXPECT_THAT(json, HasSubstr(R"("evidence":{})"));
  const auto read = parse_check_result(json);
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_FALSE(read->observations[1].value);
  EXPECT_EQ(read->observations[1].missing, "not_finite");
}

TEST(ApiV1, bytes_that_are_no_utf8_are_replaced) {
  Event event = sample_event();
  event.message = "a\xff\xc3\xe2\x82z \xed\xa0\x80 \xf0\x9f\x98\x80 \xc0\xaf";
  const auto json = to_json(event);
  const std::string bad = "\xef\xbf\xbd";
  EXPECT_THAT(json, HasSubstr("\"a" + bad + bad + bad + bad + "z " + bad + bad + bad + " \xf0\x9f\x98\x80 " +
                              bad + bad + "\""));
  EXPECT_TRUE(parse_event(json));
}

TEST(ApiV1, a_newer_agent_may_say_more) {
  auto json = replaced(to_json(sample_node()), R"({"schema")", R"({"later":{"deep":[1,2]},"schema")");
  json = replaced(json, R"("findings":[{)", R"("findings":[{"new":null,)");
  EXPECT_TRUE(parse_node(json));
}

TEST(ApiV1, every_problem_names_its_place) {
  const auto json = to_json(sample_node());
  EXPECT_EQ(v1_problem_of(replaced(json, R"("health":"degraded","reason")", R"("health":7,"reason")")),
            "results[0].findings[0].health: expected a string");
  EXPECT_EQ(v1_problem_of(replaced(json, R"("health":"degraded","reason")", R"("health":"ill","reason")")),
            "results[0].findings[0].health: 'ill' is not a valid value");
  EXPECT_EQ(v1_problem_of(replaced(json, R"("node":"node-1",)", "")), "node: expected a string");
  EXPECT_EQ(v1_problem_of(replaced(json, R"("generation":42)", R"("generation":-1)")),
            "generation: expected a count");
  EXPECT_EQ(v1_problem_of(replaced(json, R"("time":"2025-11-21T03:04:05.678Z","generation")",
                                   R"("time":"soon","generation")")),
            "time: expected a time such as 2026-01-31T12:00:00.000Z");
  EXPECT_EQ(v1_problem_of(replaced(json, R"("missingRights":["CAP_SYSLOG"])", R"("missingRights":["a",1])")),
            "coverage.missingRights[1]: expected a string");
  EXPECT_EQ(v1_problem_of(replaced(json, R"("index":3)", R"("index":3000000000)")),
            "results[0].findings[0].subject.index: expected a small integer");
  EXPECT_EQ(v1_problem_of(replaced(json, R"("value":5.0)", R"("value":[])")),
            "results[0].observations[1].value: expected a number, a string, true or false");
  EXPECT_EQ(v1_problem_of(replaced(json, R"("durationSeconds":0.0125)", R"("durationSeconds":-1)")),
            "results[0].durationSeconds: expected a number of seconds");
  EXPECT_EQ(v1_problem_of(replaced(json, R"("evidence":{"value":1,)", R"("evidence":{"value":{},)")),
            "results[0].findings[0].evidence.value: expected a number, a string, true or false");
  EXPECT_EQ(v1_problem_of(replaced(json, R"("incidents":[)", R"("incidents":[3,)")),
            "incidents[0]: expected an object");
  EXPECT_EQ(v1_problem_of(replaced(json, "autopilot.check/v1", "autopilot.check/v2")),
            "schema: 'autopilot.check/v2' is not a valid value");
}

TEST(ApiV1, refuses_what_is_no_json_too_deep_or_too_large) {
  EXPECT_THAT(v1_problem_of(""), HasSubstr("not JSON"));
  EXPECT_THAT(v1_problem_of("[]"), HasSubstr("expected a JSON object"));
  EXPECT_THAT(v1_problem_of("{\"a\":1"), HasSubstr("not JSON"));
  EXPECT_THAT(v1_problem_of("{\"a\":NaN}"), HasSubstr("not JSON"));
  EXPECT_THAT(v1_problem_of("{\"a\":\"\xff\"}"), HasSubstr("not JSON"));
  EXPECT_THAT(v1_problem_of("{\"a\":" + std::string(100'000, '[')), HasSubstr("not JSON"));
  EXPECT_THAT(v1_problem_of(std::string(kMaxBytes + 1, ' ')), HasSubstr("larger than"));
}

TEST(ApiV1, errors_cross_the_wire) {
  const Error error{Errc::conflict, "somebody \"else\" holds it"};
  const auto read = parse_error(to_json(error));
  EXPECT_EQ(read.code, error.code);
  EXPECT_EQ(read.what, error.what);
  EXPECT_EQ(parse_error("<html>").code, Errc::malformed);
}

TEST(ApiV1, a_check_without_a_result_is_unknown) {
  const auto summaries = summarize({sample_check().info, CheckInfo{.id = "host.clock"}}, sample_node());
  ASSERT_EQ(summaries.size(), 2U);
  EXPECT_EQ(summaries[0].health, Health::degraded);
  EXPECT_TRUE(summaries[0].required);
  EXPECT_EQ(summaries[1].health, Health::unknown);
  EXPECT_EQ(summaries[1].completed, WallTime{});
}

TEST(ApiV1, of_checks_that_nobody_ran_no_health_is_told) {
  const std::string list = to_json(std::vector{sample_check().info}, {.simulated = true});
  EXPECT_THAT(list, HasSubstr(R"({"simulated":true,"items":[{"check":)"));
  for (const char* member : {"health", "required", "completed"})
    EXPECT_THAT(list, Not(HasSubstr('"' + std::string(member) + '"')));
}

TEST(ApiV1, a_request_needs_only_what_it_must_say) {
  const auto operation = parse_operation_request(R"({"kind":"self_test"})");
  ASSERT_TRUE(operation);
  EXPECT_TRUE(operation->reservation.empty());
  EXPECT_FALSE(operation->deadline);
  EXPECT_FALSE(parse_operation_request("{}"));
  const auto inject = parse_inject_request(R"({"fault":"clock_unsynchronised"})");
  ASSERT_TRUE(inject);
  EXPECT_EQ(inject->subject, host_subject());
  EXPECT_FALSE(inject->magnitude);
  EXPECT_EQ(parse_inject_request(R"({"fault":"x","durationSeconds":1e300})").error().what,
            "durationSeconds: expected a number of seconds");
}

TEST(ApiV1, an_acknowledgement_says_why_in_few_words) {
  EXPECT_EQ(parse_acknowledge_request(R"({"reason":"ordered"})")->reason, "ordered");
  EXPECT_EQ(parse_acknowledge_request(R"({"reason":"ordered","until":"monday"})").error().what,
            "until: unknown member; known members: reason");
  EXPECT_EQ(parse_operation_request(R"({"kind":"self_test","deadline":5})").error().what,
            "deadline: unknown member; known members: kind, reservation, deadlineSeconds");
  const std::string endless(Acknowledgement::kMaxReasonBytes + 1, 'x');
  for (const std::string& text :
       {std::string("{}"), std::string(R"({"reason":""})"), std::string(R"({"reason":" "})"),
        R"({"reason":")" + endless + "\"}", std::string()})
    EXPECT_EQ(parse_acknowledge_request(text).error().code, Errc::malformed) << text;
}

TEST(Requests, a_member_that_is_named_twice_is_refused) {
  EXPECT_EQ(parse_acknowledge_request(R"({"reason":"a","reason":"b"})").error().what,
            "an object of the JSON text has a duplicate member");
  EXPECT_FALSE(
      parse_operation_request(R"({"kind":"self_test","reservation":[{"kind":"gpu","index":0,"index":1}]})"));
  EXPECT_TRUE(parse_acknowledge_request(R"({"reason":"\"a\": \\"})"));
}

class OpenApi : public ::testing::Test {
 protected:
  OpenApi() {
    YamlProblems problems("openapi.yaml");
    document_ = parse_yaml(openapi_yaml(), problems);
    EXPECT_TRUE(problems.empty()) << problems.to_string();
  }

  [[nodiscard]] const YamlNode* at(const std::vector<std::string>& path) const {
    const YamlNode* node = &document_;
    for (const auto& name : path) {
      node = node->find(name);
      if (node == nullptr) {
        ADD_FAILURE() << "openapi.yaml has no " << name;
        break;
      }
    }
    return node;
  }

  [[nodiscard]] std::set<std::string> words(std::vector<std::string> path) const {
    path.insert(path.begin(), {"components", "schemas"});
    path.emplace_back("enum");
    std::set<std::string> found;
    if (const auto* list = at(path))
      for (const auto& item : list->items)
        if (item.kind == YamlNode::Kind::scalar) found.insert(item.text);
    return found;
  }

  YamlNode document_;
};

// Every word that an enumeration of the core can say.
template <class Word>
std::set<std::string> words_of(std::optional<Word> (*parse)(std::string_view)) {
  std::set<std::string> found;
  for (int i = 0; i < 256; ++i) {
    const auto word = static_cast<Word>(i);
    const auto text = to_string(word);
    if (!text.empty() && parse(text) == word) found.insert(std::string(text));
  }
  return found;
}

TEST_F(OpenApi, knows_the_words_of_the_core) {
  EXPECT_EQ(words({"Health"}), words_of(parse_health));
  EXPECT_EQ(words({"Verdict"}), words_of(parse_verdict));
  EXPECT_EQ(words({"Action"}), words_of(parse_action));
  EXPECT_EQ(words({"SubjectKind"}), words_of(parse_subject_kind));
  EXPECT_EQ(words({"IncidentState"}), words_of(parse_incident_state));
  EXPECT_EQ(words({"OperationState"}), words_of(parse_operation_state));
  EXPECT_EQ(words({"EventKind"}), words_of(parse_event_kind));
  EXPECT_EQ(words({"Error", "properties", "error", "properties", "code"}), words_of(parse_errc));
}

TEST_F(OpenApi, is_the_file_of_the_source_tree) {
  std::ifstream file(paths::source("src/api/openapi.yaml"));
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(openapi_yaml(), text.str());
}

}  // namespace

}  // namespace autopilot::api
