// SPDX-License-Identifier: Apache-2.0
#include "compat/ibm_autopilot/node_answer.hpp"

#include "api/json.hpp"
#include "compat/ibm_autopilot/check_names.hpp"
#include "compat/ibm_autopilot/status_words.hpp"

namespace autopilot::compat::ibm_autopilot {
namespace {

std::string without_line_end(std::string text) {
  text.pop_back();
  return text;
}

void write_members(api::JsonWriter& writer, const CheckAnswer& answer) {
  writer.word("name", answer.name);
  const CheckName* known = find_check(answer.name);
  if (known != nullptr) writer.word("check", answer.check.empty() ? known->check : answer.check);
  writer.word("outcome", outcome_word(answer.outcome));
  if (answer.outcome != Outcome::not_supported && known != nullptr) writer.flag("fresh", answer.is_fresh);
  if (answer.result_of) writer.time("resultOf", *answer.result_of);
  if (!answer.not_run.empty()) writer.word("notRun", answer.not_run);
  writer.word("text", answer.text);
}

// Omits OK if no check passed.
std::vector<std::string> statuses_of(const std::vector<CheckAnswer>& answers) {
  std::vector<std::string> statuses;
  bool any_passed = false;
  for (const CheckAnswer& answer : answers) {
    any_passed = any_passed || answer.outcome == Outcome::passed;
    if (answer.outcome != Outcome::failed && answer.outcome != Outcome::aborted) continue;
    const auto words = status_words(answer.text);
    statuses.insert(statuses.end(), words.begin(), words.end());
  }
  if (statuses.empty() && any_passed) statuses.emplace_back("OK");
  return statuses;
}

}  // namespace

std::vector<CheckAnswer> answers_of(const std::vector<std::string>& names, const NodeSnapshot& snapshot,
                                    const Effort& effort) {
  std::vector<CheckAnswer> answers;
  for (const std::string& name : names)
    answers.push_back(answer_of(name, snapshot, effort));
  return answers;
}

std::string to_text(const std::vector<CheckAnswer>& answers, const NodeSnapshot& snapshot,
                    std::string_view preamble) {
  std::string text = snapshot.simulated ? "SIMULATED\n" : "";
  text += preamble;
  for (const CheckAnswer& answer : answers) {
    const bool runs_on = !text.empty() && !text.ends_with('\n') && !answer.text.starts_with('\n');
    text.append(runs_on ? "\n" : "").append(answer.text);
  }
  return text;
}

std::string to_json(const std::vector<CheckAnswer>& answers, const NodeSnapshot& snapshot) {
  api::JsonWriter writer;
  writer.begin_object();
  writer.word("node", snapshot.node);
  writer.flag("simulated", snapshot.simulated);
  writer.words("statuses", statuses_of(answers));
  writer.begin_list("checks");
  for (const CheckAnswer& answer : answers) {
    writer.begin_object();
    write_members(writer, answer);
    writer.end_object();
  }
  writer.end_list();
  writer.end_object();
  return without_line_end(writer.take());
}

std::string test_json(std::string_view node, std::string_view check) {
  api::JsonWriter writer;
  writer.begin_object();
  writer.word("node", node);
  writer.word("check", check);
  writer.end_object();
  return without_line_end(writer.take());
}

std::string to_json(const CheckAnswer& answer, const NodeSnapshot& snapshot) {
  api::JsonWriter writer;
  writer.begin_object();
  writer.word("node", snapshot.node);
  writer.flag("simulated", snapshot.simulated);
  write_members(writer, answer);
  writer.end_object();
  return without_line_end(writer.take());
}

}  // namespace autopilot::compat::ibm_autopilot
