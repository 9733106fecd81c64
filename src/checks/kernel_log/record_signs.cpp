// SPDX-License-Identifier: Apache-2.0
#include "checks/kernel_log/record_signs.hpp"

#include <string>
#include <string_view>

#include "checks/kernel_log/driver_advice.hpp"
#include "checks/kernel_log/driver_events.hpp"
#include "checks/kernel_log/rule_events.hpp"

namespace autopilot::checks {
namespace {

bool counts(const Observation& record) {
  return may_act(record) || record.source == kNvmlEvents;
}

Finding sign_of(const Observation& record, std::uint32_t code, const DriverAdvice& advice) {
  const bool is_xid = record.name == kXidEvent;
  Finding sign;
  sign.health = advice.health;
  sign.subject = subject_of_error(record, advice);
  sign.reason = is_xid ? reason_of_xid(code, advice.fault_class) : std::string(kReasonOfSxids);
  sign.message = (is_xid ? "Xid " : "SXid ") + std::to_string(code) + ": " + std::string(advice.meaning);
  sign.action = advice.now;
  sign.since = record.time.wall;
  sign.last_seen = record.time.wall;
  sign.injected = is_injected(record);
  sign.evidence.emplace_back("code", std::int64_t{code});
  for (const std::string_view name : {"line", "pid", "process", "causedBy", "count"})
    if (const Value* value = find_attribute(record.attributes, name))
      sign.evidence.emplace_back(name, *value);
  if (advice.confidence) sign.evidence.emplace_back("confidence", *advice.confidence);
  return sign;
}

// A line about the PCIe link of a GPU: evidence beside another fault, by itself nothing (the counters are
// judged).
Finding pcie_sign(const Observation& record, const catalog::LogRule& rule) {
  Finding sign;
  sign.health = Health::healthy;
  sign.subject = record.subject;
  sign.reason = "pcie_error_line";
  sign.message = rule.title;
  sign.since = record.time.wall;
  sign.last_seen = record.time.wall;
  sign.injected = is_injected(record);
  sign.evidence.emplace_back("rule", rule.id);
  for (const std::string_view name : {"line", "count"})
    if (const Value* value = find_attribute(record.attributes, name))
      sign.evidence.emplace_back(name, *value);
  return sign;
}

}  // namespace

Findings signs_in(const Observations& records, const catalog::Catalog& facts) {
  Findings signs;
  for (const Observation& record : records) {
    if (const auto* rule = facts.log_rule(record.name); rule != nullptr && rule->kind == "aer") {
      if (record.subject.kind == SubjectKind::gpu && counts(record))
        signs.push_back(pcie_sign(record, *rule));
      continue;
    }
    const bool is_error = record.name == kXidEvent || record.name == kSxidEvent;
    if (!is_error || !counts(record) || !record.value) continue;
    if (find_attribute(record.attributes, "recoveryTo") != nullptr) continue;
    const catalog::Xid* xid = facts.xid(code_of(record));
    if (xid != nullptr && !xid->takes_back.empty()) continue;  // it ends what others are signs of
    const DriverAdvice advice = advice_on_event(facts, record);
    // What the switch corrected says nothing to anybody.
    if (record.name == kXidEvent || advice.health != Health::healthy)
      signs.push_back(sign_of(record, code_of(record), advice));
  }
  return signs;
}

}  // namespace autopilot::checks
