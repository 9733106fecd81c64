// SPDX-License-Identifier: Apache-2.0
#include "catalog/log_rule.hpp"

#include <algorithm>
#include <utility>

#include "catalog/log_pattern.hpp"

namespace autopilot::catalog {
namespace {

const std::vector<std::string> kFaultWords{"degraded", "failed"};
const std::vector<std::string> kSubjectWords{"host", "gpu", "link", "nic_port", "disk", "mount"};

std::optional<Health> parse_fault(std::string_view word) {
  return std::ranges::find(kFaultWords, word) == kFaultWords.end() ? std::nullopt : parse_health(word);
}

std::optional<SubjectKind> parse_log_subject(std::string_view word) {
  return std::ranges::find(kSubjectWords, word) == kSubjectWords.end() ? std::nullopt
                                                                       : parse_subject_kind(word);
}

}  // namespace

LogRule read_log_rule_core(Entry& entry, std::vector<std::string> examples) {
  LogRule rule;
  rule.id = entry.id("[a-z][a-z0-9_]*\\.[a-z][a-z0-9_]*");
  rule.pattern = entry.required_word("pattern");
  rule.examples = std::move(examples);
  const auto compiled = LogPattern::compile(rule.pattern);
  if (!compiled) entry.problem(entry.line_of("pattern"), "`pattern`: " + compiled.error().what);
  for (const std::string& example : rule.examples)
    if (compiled && !compiled->match(example))
      entry.problem(entry.line_of("examples"), "`examples`: the pattern does not match: " + example);
  rule.title = entry.required_word("title");
  rule.fault_class = entry.word("class").value_or("");
  entry.known_word("class", rule.fault_class, xid_classes());
  rule.action = entry.choice<Action>("action", &parse_action, action_words());
  rule.health = entry.choice<Health>("health", &parse_fault, kFaultWords).value_or(Health::degraded);
  rule.subject =
      entry.choice<SubjectKind>("subject", &parse_log_subject, kSubjectWords).value_or(SubjectKind::host);
  if (rule.subject != SubjectKind::host && compiled && !compiled->has_group("device"))
    entry.problem(entry.line_of("subject"), "`subject`: the pattern has no group `device` that names it");
  rule.takes_back = entry.words("takes_back").value_or(std::vector<std::string>{});
  return rule;
}

}  // namespace autopilot::catalog
