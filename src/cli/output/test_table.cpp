// SPDX-License-Identifier: Apache-2.0
#include "cli/output/test_table.hpp"

#include <utility>

#include "cli/output/layout.hpp"
#include "cli/output/phrases.hpp"

namespace autopilot::cli {
namespace {

// RESULT shows the health from the check instead of the state of the operation. Findings follow in rows
// below.
Row row_of(const FinishedTest& test) {
  const bool has_ended = test.operation.state == OperationState::succeeded;
  const Health health = health_of(test);
  std::string word(to_string(test.operation.state));
  if (has_ended) word = test.result ? to_string(health) : "passed";
  return {{test.operation.kind}, {std::move(word), color_of(health)}, {test.operation.message}};
}

// Unknown findings often have one cause.
constexpr std::size_t kMostUnknown = 8;

std::string text_of(const Finding& finding) {
  const bool needs_name = finding.health == Health::unknown && finding.subject.kind != SubjectKind::host;
  return (needs_name ? subject_text(finding.subject) + ": " : "") + finding.message;
}

void add_findings(const Findings& findings, std::vector<Row>& rows) {
  std::size_t unknown = 0;
  for (const Finding& finding : findings)
    if (finding.health != Health::unknown || ++unknown <= kMostUnknown)
      rows.push_back({{""}, {""}, {text_of(finding), color_of(finding.health)}});
  if (unknown > kMostUnknown)
    rows.push_back(
        {{""},
         {""},
         {"and " + std::to_string(unknown - kMostUnknown) + " more that are unknown; show all with -o json",
          color_of(Health::unknown)}});
}

}  // namespace

Health health_of(const FinishedTest& test) {
  if (test.operation.state != OperationState::succeeded) return Health::unknown;
  return test.result ? test.result->health : Health::healthy;
}

bool are_simulated(const std::vector<FinishedTest>& tests) {
  return !tests.empty() && tests.front().operation.simulated;
}

std::string render_tests(const std::vector<FinishedTest>& tests, const TableStyle& style) {
  std::vector<Row> rows;
  for (const FinishedTest& test : tests) {
    rows.push_back(row_of(test));
    if (test.result) add_findings(test.result->findings, rows);
  }
  return render_columns({"DIAGNOSTIC", "RESULT", "MESSAGE"}, std::move(rows), style);
}

std::string tests_json(const std::vector<FinishedTest>& tests) {
  std::string items;
  for (const FinishedTest& test : tests) {
    items += items.empty() ? "{\"operation\":" : ",{\"operation\":";
    items += api::to_json(test.operation);
    if (test.result)
      items += ",\"result\":" + api::to_json(*test.result, {.simulated = test.operation.simulated});
    items += "}";
  }
  return std::string("{\"simulated\":") + (are_simulated(tests) ? "true" : "false") + ",\"items\":[" + items +
         "]}";
}

std::string render_test_list(const std::vector<api::TestInfo>& tests, const TableStyle& style) {
  std::vector<Row> rows;
  for (const api::TestInfo& test : tests)
    rows.push_back({{test.id}, {format_duration(test.deadline)}, {test.title}});
  return render_columns({"DIAGNOSTIC", "DEADLINE", "DESCRIPTION"}, std::move(rows), style);
}

}  // namespace autopilot::cli
