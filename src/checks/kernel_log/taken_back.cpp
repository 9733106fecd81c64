// SPDX-License-Identifier: Apache-2.0
#include "checks/kernel_log/taken_back.hpp"

#include <algorithm>

#include "checks/kernel_log/driver_events.hpp"
#include "checks/kernel_log/rule_events.hpp"

namespace autopilot::checks {

namespace {

bool is_about(const TakenBack& one, const Observation& record) {
  return record.name == kXidEvent && one.code == code_of(record) && one.gpu == gpu_of(record.subject) &&
         one.injected == is_injected(record);
}

}  // namespace

std::vector<TakenBack> taken_back_by(const Observation& record, const catalog::Catalog& facts) {
  if (record.name != kXidEvent || !may_act(record)) return {};
  const catalog::Xid* xid = facts.xid(code_of(record));
  if (xid == nullptr) return {};
  std::vector<TakenBack> result;
  for (const std::uint32_t code : xid->takes_back)
    result.push_back({gpu_of(record.subject), code, record.time.mono, is_injected(record)});
  return result;
}

std::vector<TakenBack> taken_back_in(const Observations& records, const catalog::Catalog& facts) {
  std::vector<TakenBack> result;
  for (const Observation& record : records) {
    if (may_act(record)) std::erase_if(result, [&](const TakenBack& one) { return is_about(one, record); });
    for (TakenBack& one : taken_back_by(record, facts))
      if (!one.injected) result.push_back(std::move(one));
  }
  return result;
}

bool is_over(const Observation& record, const std::vector<TakenBack>& taken_back) {
  return std::ranges::any_of(
      taken_back, [&](const TakenBack& one) { return is_about(one, record) && record.time.mono <= one.by; });
}

}  // namespace autopilot::checks
