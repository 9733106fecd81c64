// SPDX-License-Identifier: Apache-2.0
#include "api/validations.hpp"

#include <optional>

#include "api/json.hpp"
#include "core/word_table.hpp"

namespace autopilot::api {
namespace {

using learning::CheckOutcome;
using learning::Depth;
using learning::JobOutcome;
using learning::ValidationResult;

constexpr WordTable<Depth, 4> kValidationDepths{
    {{Depth::passive, "passive"}, {Depth::quick, "quick"}, {Depth::deep, "deep"}, {Depth::pair, "pair"}}};
constexpr WordTable<learning::Verdict, 3> kValidationVerdicts{{{learning::Verdict::passed, "passed"},
                                                               {learning::Verdict::failed, "failed"},
                                                               {learning::Verdict::unknown, "unknown"}}};
constexpr WordTable<JobOutcome, 5> kValidationOutcomes{{{JobOutcome::completed, "completed"},
                                                        {JobOutcome::failed, "failed"},
                                                        {JobOutcome::stopped, "stopped"},
                                                        {JobOutcome::preempted, "preempted"},
                                                        {JobOutcome::unknown, "unknown"}}};

std::optional<Depth> parse_validation_depth(std::string_view word) {
  return value_of(kValidationDepths, word);
}
std::optional<learning::Verdict> parse_validation_verdict(std::string_view word) {
  return value_of(kValidationVerdicts, word);
}
std::optional<JobOutcome> parse_validation_outcome(std::string_view word) {
  return value_of(kValidationOutcomes, word);
}

void write_outcome_of_check(JsonWriter& json, const CheckOutcome& outcome) {
  json.begin_object();
  json.word("check", outcome.check);
  json.word_if_any("gpu", outcome.gpu);
  json.word("health", to_string(outcome.health));
  json.word_if_any("reason", outcome.reason);
  json.word_if_any("text", outcome.text);
  json.end_object();
}

void write_pair_test(JsonWriter& json, const learning::PairTest& test) {
  json.begin_object("pairTest");
  json.words("nodes", test.nodes);
  json.word("text", test.text);
  json.words("suspects", test.suspects);
  json.end_object();
}

learning::PairTest read_pair_test(const JsonObject& object) {
  return {.nodes = object.words("nodes"), .text = object.word("text"), .suspects = object.words("suspects")};
}

void write_validation(JsonWriter& json, const ValidationResult& result) {
  const learning::Validation& record = result.record;
  json.begin_object();
  json.word("id", record.id);
  json.word("job", record.job);
  json.word("name", result.name);
  json.integers("gpus", result.gpus);
  json.time("start", record.start);
  json.time("end", record.end);
  json.word("depth", word_of(kValidationDepths, record.depth));
  json.word("verdict", word_of(kValidationVerdicts, record.verdict));
  json.word("outcome", word_of(kValidationOutcomes, result.outcome));
  json.word_if_any("failure", result.failure);
  json.word_if_any("failureText", result.failure_text);
  json.word("summary", result.summary);
  json.word("cause", record.cause);
  json.integer("compared", result.compared);
  json.integer("worseChecks", result.worse_checks);
  json.words("worse", result.worse);
  json.integer("tries", result.tries);
  json.flag("wantsPairTest", result.wants_pair_test);
  if (result.pair_test) write_pair_test(json, *result.pair_test);
  json.begin_list("checks");
  for (const CheckOutcome& outcome : record.checks)
    write_outcome_of_check(json, outcome);
  json.end_list();
  json.end_object();
}

CheckOutcome read_outcome_of_check(const JsonObject& object) {
  return {.check = object.word("check"),
          .gpu = object.word_or_empty("gpu"),
          .health = object.choice("health", &parse_health),
          .reason = object.word_or_empty("reason"),
          .text = object.word_or_empty("text")};
}

ValidationResult read_validation(const JsonObject& object) {
  ValidationResult result;
  learning::Validation& record = result.record;
  record.id = object.word("id");
  record.job = object.word("job");
  record.start = object.time("start");
  record.end = object.time("end");
  record.depth = object.choice("depth", &parse_validation_depth);
  record.verdict = object.choice("verdict", &parse_validation_verdict);
  record.cause = object.word("cause");
  record.checks = object.list("checks", &read_outcome_of_check);
  result.name = object.word("name");
  result.gpus = object.small_integers("gpus");
  result.outcome = object.choice("outcome", &parse_validation_outcome);
  result.failure = object.word_or_empty("failure");
  result.failure_text = object.word_or_empty("failureText");
  result.summary = object.word("summary");
  result.compared = object.small_integer("compared");
  result.worse_checks = object.small_integer("worseChecks");
  result.worse = object.words("worse");
  result.tries = object.small_integer("tries");
  result.wants_pair_test = object.flag("wantsPairTest");
  if (object.has("pairTest")) result.pair_test = object.object("pairTest", read_pair_test);
  return result;
}

ValidationList read_validation_list(const JsonObject& object) {
  ValidationList list{.node = object.word("node"),
                      .is_simulated = object.flag("simulated"),
                      .waiting = static_cast<std::size_t>(object.count("waiting")),
                      .validations = object.list("validations", &read_validation)};
  for (ValidationResult& result : list.validations)
    result.record.place.node = list.node;
  return list;
}

}  // namespace

std::string to_json(const ValidationList& list) {
  JsonWriter json;
  json.begin_object();
  json.word("node", list.node);
  json.flag("simulated", list.is_simulated);
  json.count("waiting", list.waiting);
  json.begin_list("validations");
  for (const ValidationResult& result : list.validations)
    write_validation(json, result);
  json.end_list();
  json.end_object();
  return json.take();
}

Result<ValidationList> parse_validations(std::string_view json) {
  JsonDocument document = TRY(JsonDocument::parse(json));
  return document.read(&read_validation_list);
}

}  // namespace autopilot::api
