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
  Finding sign;
  sign.health = Health::healthy;
  sign.subject = link_of(record).value_or(record.subject);
  sign.reason = "xid_" + std::string(advice.fault_class);
  sign.message = "Xid " + std::to_string(code) + ": " + std::string(advice.meaning);
  sign.action = advice.now;
  sign.since = record.time.wall;
  sign.last_seen = record.time.wall;
  sign.injected = is_injected(record);
  sign.evidence.emplace_back("code", std::int64_t{code});
  for (const std::string_view name : {"line", "pid", "process", "causedBy", "count"})
    if (const Value* value = find_attribute(record.attributes, name))
      sign.evidence.emplace_back(name, *value);
  return sign;
}

}  // namespace

Findings signs_in(const Observations& records, const catalog::Catalog& facts) {
  Findings signs;
  for (const Observation& record : records) {
    if (record.name != kXidEvent || !counts(record) || !record.value) continue;
    if (find_attribute(record.attributes, "recoveryTo") != nullptr) continue;
    const catalog::Xid* xid = facts.xid(code_of(record));
    if (xid != nullptr && !xid->takes_back.empty()) continue;  // it ends what others are signs of
    const DriverAdvice advice = advice_on_event(facts, record);
    if (advice.health == Health::healthy) signs.push_back(sign_of(record, code_of(record), advice));
  }
  return signs;
}

}  // namespace autopilot::checks
