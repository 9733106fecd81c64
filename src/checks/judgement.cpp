// SPDX-License-Identifier: Apache-2.0
#include "checks/judgement.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

namespace autopilot::checks {
namespace {

// unknown and unsupported are not degrees of a fault and are not capped.
Health capped(Health health, Health most) {
  return health == Health::failed && most == Health::degraded ? Health::degraded : health;
}

const catalog::Reason& reason_of(const JudgeInput& input, std::string_view id) {
  const catalog::Reason* reason = input.facts.reason(id);
  if (reason == nullptr) reason = catalog::builtin().reason(id);
  AUTOPILOT_ASSERT(reason != nullptr);
  return *reason;
}

std::string_view unread_reason(std::string_view why) {
  if (why == to_string(Errc::denied)) return kNotPermitted;
  if (why == to_string(Errc::malformed)) return "malformed_answer";
  return why == to_string(Errc::timed_out) ? "timed_out" : "could_not_look";
}

const LearnedLimit* learned_limit(const JudgeInput& input, std::string_view id) {
  if (input.learned == nullptr) return nullptr;
  const auto found = input.learned->find(id);
  return found == input.learned->end() ? nullptr : &found->second;
}

void add_if_unread(const JudgeInput& input, const Observation& observation, Findings& findings) {
  const std::string& why = observation.missing;
  if (why.empty() || why == "not_supported" || why == to_string(Errc::unsupported)) return;
  const std::string_view reason = unread_reason(why);
  const bool is_reported = std::ranges::any_of(findings, [&](const Finding& finding) {
    return finding.reason == reason && finding.subject == observation.subject;
  });
  if (is_reported) return;  // one finding for each kind of error
  const Value* what = find_attribute(observation.attributes, "error");
  findings.push_back(make_finding(input, observation.subject, reason, Health::unknown,
                                  what == nullptr ? observation.name + ": " + why : to_string(*what)));
  findings.back().evidence = {{"error", why}, {"witness", observation.source}};
}

}  // namespace

Limit limit(const JudgeInput& input, std::string_view id) {
  const catalog::Threshold* threshold = input.facts.threshold(id);
  if (threshold == nullptr) threshold = catalog::builtin().threshold(id);
  AUTOPILOT_ASSERT(threshold != nullptr);
  Limit limit{threshold->id, threshold->value, threshold->unit, threshold->provenance.source,
              threshold->max_health};
  if (const auto own = input.expectation.thresholds.find(id); own != input.expectation.thresholds.end()) {
    limit.value = own->second;
    limit.source = "configuration";
  } else if (const LearnedLimit* learned = learned_limit(input, id)) {
    limit.value = learned->value;
    limit.source = std::string(kLearnedSource) + learned->version;
  }
  return limit;
}

std::string learned_version(const Finding& finding) {
  const Value* source = find_attribute(finding.evidence, "thresholdSource");
  const std::string text = source == nullptr ? std::string() : to_string(*source);
  return text.starts_with(kLearnedSource) ? text.substr(kLearnedSource.size()) : std::string();
}

Finding make_finding(const JudgeInput& input, const Subject& subject, std::string_view reason, Health health,
                     std::string message) {
  const catalog::Reason& facts = reason_of(input, reason);
  Finding finding;
  finding.subject = subject;
  finding.health = capped(health, facts.max_health);
  finding.reason = reason;
  finding.message = std::move(message);
  finding.action = facts.action;
  return finding;
}

Finding make_finding(const JudgeInput& input, const Subject& subject, std::string_view reason, Health health,
                     std::string message, double value, const Limit& limit) {
  if (limit.source.starts_with(kLearnedSource)) message += " (threshold " + limit.source + ")";
  Finding finding =
      make_finding(input, subject, reason, capped(health, limit.max_health), std::move(message));
  finding.evidence = {{"value", value},
                      {"threshold", limit.value},
                      {"unit", limit.unit},
                      {"thresholdId", limit.id},
                      {"thresholdSource", limit.source}};
  return finding;
}

void add_unread(const JudgeInput& input, Findings& findings) {
  for (const Observation& observation : input.history.latest())
    if (!observation.is_event()) add_if_unread(input, observation, findings);
}

void add_unread(const JudgeInput& input, const Subject& subject, std::string_view name, Findings& findings) {
  if (const Observation* observation = input.history.find(subject, name))
    add_if_unread(input, *observation, findings);
}

std::string rounded(double number) {
  const double value = std::round(number * 10) / 10;
  std::array<char, 400> text{};  // the longest double has 309 digits
  std::snprintf(text.data(), text.size(), value == std::floor(value) ? "%.0f" : "%.1f", value);
  return text.data();
}

std::string scientific(double number) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1e", number);
  return text.data();
}

std::string percent(double ratio) {
  return rounded(ratio * 100) + " %";
}

}  // namespace autopilot::checks
