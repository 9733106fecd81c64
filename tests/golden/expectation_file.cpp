// SPDX-License-Identifier: Apache-2.0
#include "golden/expectation_file.hpp"

#include <algorithm>

#include "core/parse.hpp"
#include "core/yaml.hpp"

namespace autopilot::golden {
namespace {

std::vector<ExpectedFinding> read_findings(const YamlNode& list, YamlProblems& problems) {
  std::vector<ExpectedFinding> findings;
  for (const YamlNode& item : list.items) {
    YamlMap map(item, "finding", problems);
    ExpectedFinding finding;
    finding.subject = map.required_word("subject");
    finding.health = map.required_word("health");
    finding.reason = map.required_word("reason");
    finding.action = map.required_word("action");
    finding.held = map.boolean("held").value_or(false);
    findings.push_back(std::move(finding));
  }
  return findings;
}

Expectation read_given(const YamlNode& node, YamlProblems& problems) {
  Expectation given;
  YamlMap map(node, "given", problems);
  if (const auto count = map.integer("gpu_count")) given.gpu_count = static_cast<int>(*count);
  if (const YamlNode* thresholds = map.map("thresholds"))
    for (const YamlMember& member : thresholds->members) {
      const auto value = parse_number<double>(member.value.text);
      if (!value) problems.add(member.line, member.key + " is no number");
      given.thresholds[member.key] = value.value_or(0);
    }
  const auto words = [&](const char* key) { return map.words(key).value_or(std::vector<std::string>{}); };
  given.ignored_mounts = words("ignored_mounts");
  given.ignored_interfaces = words("ignored_interfaces");
  given.expected_interfaces = words("expected_interfaces");
  return given;
}

std::string line_of(const ExpectedFinding& finding) {
  return "  - {subject: " + finding.subject + ", health: " + finding.health + ", reason: " + finding.reason +
         ", action: " + finding.action + (finding.held ? ", held: true" : "") + "}";
}

void add_findings(const char* key, const std::vector<ExpectedFinding>& findings,
                  std::vector<std::string>& lines) {
  lines.push_back(std::string(key) + (findings.empty() ? ": []" : ":"));
  for (const ExpectedFinding& finding : findings)
    lines.push_back(line_of(finding));
}

std::vector<std::string> lines_of(const Outcome& outcome) {
  std::vector<std::string> lines{"health: " + outcome.health};
  if (outcome.error) lines.push_back("error: " + *outcome.error);
  add_findings("findings", outcome.findings, lines);
  if (!outcome.error) {
    std::string witnesses = "witnesses: [";
    for (const std::string& witness : outcome.witnesses)
      witnesses += (witnesses.back() == '[' ? "" : ", ") + witness;
    lines.push_back(witnesses + "]");
    std::string looked_at = "looked_at: {";
    for (const auto& [kind, count] : outcome.looked_at)
      looked_at += (looked_at.back() == '{' ? "" : ", ") + kind + ": " + std::to_string(count);
    lines.push_back(looked_at + "}");
  }
  if (outcome.standing) add_findings("standing", *outcome.standing, lines);
  return lines;
}

// The lines of `given:` with their comments, as the author wrote them.
std::string given_part(std::string_view text) {
  std::string part;
  bool is_inside = false;
  for (const std::string_view line : split(text, '\n')) {
    if (!line.empty() && line.front() != ' ') is_inside = line.starts_with("given:");
    if (is_inside && !line.empty()) part += std::string(line) + "\n";
  }
  return part;
}

}  // namespace

Result<ExpectationFile> parse_expectation(std::string_view text, const std::string& file) {
  YamlProblems problems(file);
  const YamlNode document = parse_yaml(text, problems);
  TRY_STATUS(problems.status());
  ExpectationFile expected;
  {
    YamlMap map(document, "expect", problems);
    expected.outcome.health = map.required_word("health");
    expected.outcome.error = map.word("error");
    if (const YamlNode* list = map.list("findings"))
      expected.outcome.findings = read_findings(*list, problems);
    if (const YamlNode* list = map.list("standing"))
      expected.outcome.standing = read_findings(*list, problems);
    expected.outcome.witnesses = map.words("witnesses").value_or(std::vector<std::string>{});
    if (const YamlNode* counts = map.map("looked_at"))
      for (const YamlMember& member : counts->members) {
        const auto count = parse_number<int>(member.value.text);
        if (!count) problems.add(member.line, member.key + " is no number");
        expected.outcome.looked_at[member.key] = count.value_or(0);
      }
    if (const YamlNode* given = map.map("given")) expected.given = read_given(*given, problems);
  }
  TRY_STATUS(problems.status());
  return expected;
}

std::vector<ExpectedFinding> expected_findings(Findings findings) {
  std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    return a.subject != b.subject ? a.subject < b.subject : a.reason < b.reason;
  });
  std::vector<ExpectedFinding> expected;
  for (const Finding& finding : findings)
    expected.push_back({to_string(finding.subject), std::string(to_string(finding.health)), finding.reason,
                        std::string(to_string(finding.action)), finding.held});
  return expected;
}

std::string format_outcome(const Outcome& outcome, std::string_view before) {
  std::string text = "# SPDX-License-Identifier: Apache-2.0\n" + given_part(before);
  for (const std::string& line : lines_of(outcome))
    text += line + "\n";
  return text;
}

std::string difference(const Outcome& expected, const Outcome& actual) {
  Outcome compared = actual;
  if (!expected.standing) compared.standing.reset();
  const auto wanted = lines_of(expected);
  const auto got = lines_of(compared);
  if (wanted == got) return "";
  std::string text;
  const auto add = [&](const std::vector<std::string>& lines, const std::vector<std::string>& other,
                       const char* sign) {
    for (const std::string& line : lines)
      if (std::find(other.begin(), other.end(), line) == other.end()) text += sign + line + "\n";
  };
  add(wanted, got, "  - ");
  add(got, wanted, "  + ");
  return text.empty() ? "  the same lines in another order\n" : text;
}

}  // namespace autopilot::golden
