// SPDX-License-Identifier: Apache-2.0
#include "checks/kernel_log/rule_findings.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "checks/judgement.hpp"
#include "checks/kernel_log/rule_events.hpp"

namespace autopilot::checks {
namespace {

// Of the catalog, of the finding itself, or the same for every event that acts.
constexpr std::array<std::string_view, 4> kToldElsewhere{"kind", "name", "injected", "fromKernel"};

// Subject, reason, injected.
using Key = std::tuple<Subject, std::string, bool>;

struct Condition {
  Health health = Health::degraded;
  std::int64_t count = 0;
  WallTime since{};
  const Observation* last = nullptr;  // of those with the worst health
  const catalog::LogRule* rule = nullptr;
};

class Judgement {
 public:
  explicit Judgement(const JudgeInput& input) : input_(input) {}

  Findings judge() {
    for (const Observation& event : input_.history.events()) {
      const catalog::LogRule* rule = rule_of(event);
      if (rule == nullptr || !may_act(event)) continue;
      for (const std::string& other : rule->takes_back)
        take_back(other, event);
      if (!rule->reason.empty() && !is_expired(event, *rule)) note(event, *rule);
    }
    Findings findings;
    for (const auto& [key, condition] : conditions_)
      findings.push_back(to_finding(key, condition));
    return findings;
  }

 private:
  [[nodiscard]] const catalog::LogRule* rule_of(const Observation& event) const {
    return input_.facts.log_rule(event.name);
  }

  void take_back(const std::string& rule, const Observation& by) {
    std::erase_if(conditions_, [&](const auto& entry) {
      const auto& [subject, reason, injected] = entry.first;
      return entry.second.rule->id == rule && subject == by.subject && injected == is_injected(by);
    });
  }

  [[nodiscard]] bool is_expired(const Observation& event, const catalog::LogRule& rule) const {
    const catalog::Reason* reason = input_.facts.reason(rule.reason);
    return reason != nullptr && reason->clear == catalog::ClearRule::expiry &&
           input_.now.mono - event.time.mono > reason->clear_after;
  }

  void note(const Observation& event, const catalog::LogRule& rule) {
    Condition& condition = conditions_[{event.subject, rule.reason, is_injected(event)}];
    condition.count += event_count(event);
    if (condition.last == nullptr) condition.since = event.time.wall;
    if (condition.last != nullptr && condition.health == Health::failed && rule.health != Health::failed)
      return;
    condition.health = rule.health;
    condition.last = &event;
    condition.rule = &rule;
  }

  // The evidence is that of one record: it stays the same until there is news.
  [[nodiscard]] Finding to_finding(const Key& key, const Condition& condition) const {
    const auto& [subject, reason, injected] = key;
    const Observation& last = *condition.last;
    std::string message = condition.rule->title;
    if (condition.count > 1) message += " (" + std::to_string(condition.count) + " lines)";
    if (const Value* line = find_attribute(last.attributes, "line"); line != nullptr)
      message += ": " + to_string(*line);
    Finding finding = make_finding(input_, subject, reason, condition.health, std::move(message));
    if (condition.rule->action) finding.action = *condition.rule->action;
    finding.injected = injected;
    finding.since = condition.since;
    finding.evidence = {{"rule", last.name},
                        {"time", format_time(last.time.wall)},
                        {"witness", last.source},
                        {"sequence", static_cast<std::int64_t>(last.sequence.value_or(0))}};
    for (const auto& attribute : last.attributes)
      if (std::ranges::find(kToldElsewhere, attribute.first) == kToldElsewhere.end())
        finding.evidence.push_back(attribute);
    return finding;
  }

  const JudgeInput& input_;
  std::map<Key, Condition> conditions_;
};

}  // namespace

Findings rule_findings(const JudgeInput& input) {
  return Judgement(input).judge();
}

Health allowed_health(const JudgeInput& input, const Observation& event, Health health) {
  const catalog::LogRule* rule = input.facts.log_rule(event.name);
  if (rule == nullptr) rule = catalog::builtin().log_rule(event.name);
  return rule == nullptr ? health : catalog::allowed_health(*rule, health);
}

}  // namespace autopilot::checks
