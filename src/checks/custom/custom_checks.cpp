// SPDX-License-Identifier: Apache-2.0

#include "checks/custom/custom_checks.hpp"

#include <utility>

#include "checks/judgement.hpp"
#include "checks/kernel_log/record_effects.hpp"
#include "checks/kernel_log/rule_events.hpp"

namespace autopilot::checks {

namespace custom_script {
namespace {

// What the script reported about the machine as a whole; its own readings keep their names.
constexpr std::string_view kHealth = "script.says";
constexpr std::string_view kMessage = "script.message";

Observation observed(std::string_view name, Value value, std::string_view unit, const std::string& path,
                     Instant now) {
  Observation observation;
  observation.name = name;
  observation.value = std::move(value);
  observation.unit = unit;
  observation.source = path;
  observation.time = now;
  return observation;
}

Result<Observed> to_observed(const ScriptAnswer& answer, const std::string& path, Instant now) {
  if (answer.health == Health::unknown)
    return fail(Errc::unavailable, answer.message.empty() ? "the script reports: unknown" : answer.message);
  Observed result;
  result.witnesses = {path};
  result.observations = {observed(kHealth, std::string(to_string(answer.health)), "", path, now),
                         observed(kMessage, answer.message, "", path, now)};
  for (const auto& reading : answer.readings)
    result.observations.push_back(observed(reading.name, reading.value, reading.unit, path, now));
  return result;
}

Findings judge(const JudgeInput& input) {
  const auto health = parse_health(input.history.word(host_subject(), kHealth).value_or(""));
  if (health != Health::degraded && health != Health::failed) return {};
  const std::string message = input.history.word(host_subject(), kMessage).value_or("");
  auto finding = make_finding(
      input, host_subject(), health == Health::failed ? "script_failed" : "script_degraded", *health,
      message.empty() ? "The script reports: " + std::string(to_string(*health)) + "." : message);
  if (const auto* reported = input.history.find(host_subject(), kHealth))
    finding.evidence.emplace_back("script", reported->source);
  return {std::move(finding)};
}

}  // namespace
}  // namespace custom_script

Check script_check(const Script& script, std::function<Result<ScriptAnswer>(MonoTime deadline)> run) {
  Check check;
  check.info.id = std::string(kCustomPrefix) + script.name;
  check.info.title = "Script " + script.path;
  check.info.tags = {"custom", "script"};
  check.info.period = script.period;
  check.info.deadline = script.deadline;
  check.info.cost = Cost::moderate;
  check.info.witnesses = {script.path};
  check.observe = [run = std::move(run), path = script.path](const host::Host&,
                                                             const Request& request) -> Result<Observed> {
    return custom_script::to_observed(TRY(run(request.deadline)), path, request.now);
  };
  check.judge = custom_script::judge;
  return check;
}

namespace {

catalog::Catalog only(const std::vector<catalog::LogRule>& rules) {
  catalog::Facts facts;
  facts.log_rules = rules;
  return catalog::Catalog(std::move(facts));
}

}  // namespace

OperatorRules::OperatorRules(const std::vector<catalog::LogRule>& rules)
    : facts_(only(rules)), decoder_(facts_) {}

bool OperatorRules::recognise(const host::KernelRecord& record) const {
  return decoder_.decode_by_rules(record).has_value();
}

Check log_rules_check(std::shared_ptr<const OperatorRules> rules) {
  Check check;
  check.info.id = kLogRulesCheck;
  check.info.title = "Kernel log lines by your own rules";
  check.info.tags = {"custom", "kernel_log"};
  check.info.period = std::chrono::seconds{10};
  check.info.deadline = std::chrono::seconds{10};
  check.info.window = std::chrono::hours{1};
  check.info.witnesses = {"/dev/kmsg"};
  check.info.rights = {"CAP_SYSLOG"};
  check.observe = [rules = std::move(rules)](const host::Host& host,
                                             const Request& request) -> Result<Observed> {
    Observed observed;
    TRY_STATUS(add_rule_events(host, request, rules->decoder(), rules->facts(), observed));
    return observed;
  };
  check.judge = rule_findings;
  check.interpret = interpret_records;
  return check;
}

}  // namespace autopilot::checks
