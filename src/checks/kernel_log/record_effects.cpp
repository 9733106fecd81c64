// SPDX-License-Identifier: Apache-2.0

#include "checks/kernel_log/record_effects.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "checks/kernel_log/driver_advice.hpp"
#include "checks/kernel_log/driver_events.hpp"
#include "checks/kernel_log/rule_events.hpp"

namespace autopilot::checks {
namespace {

bool counts(const Observation& record) {
  return may_act(record) || record.source == kNvmlEvents;
}

Finding symptom_of(const Observation& record, std::uint32_t code, const DriverAdvice& advice) {
  const bool is_xid = record.name == kXidEvent;
  Finding symptom;
  symptom.health = advice.health;
  symptom.subject = subject_of_error(record, advice);
  symptom.reason = is_xid ? reason_of_xid(code, advice.fault_class) : std::string(kReasonOfSxids);
  symptom.message = (is_xid ? "Xid " : "SXid ") + std::to_string(code) + ": " + std::string(advice.meaning);
  symptom.action = advice.now;
  symptom.since = record.time.wall;
  symptom.last_seen = record.time.wall;
  symptom.injected = is_injected(record);
  symptom.evidence.emplace_back("code", std::int64_t{code});
  for (const std::string_view name : {"line", "pid", "process", "causedBy", "count"})
    if (const Value* value = find_attribute(record.attributes, name))
      symptom.evidence.emplace_back(name, *value);
  if (advice.confidence) symptom.evidence.emplace_back("confidence", *advice.confidence);
  return symptom;
}

// A line about the PCIe link of a GPU: evidence next to another fault, without effect on its own (the
// counters are judged).
Finding pcie_symptom(const Observation& record, const catalog::LogRule& rule) {
  Finding symptom;
  symptom.health = Health::healthy;
  symptom.subject = record.subject;
  symptom.reason = "pcie_error_line";
  symptom.message = rule.title;
  symptom.since = record.time.wall;
  symptom.last_seen = record.time.wall;
  symptom.injected = is_injected(record);
  symptom.evidence.emplace_back("rule", rule.id);
  for (const std::string_view name : {"line", "count"})
    if (const Value* value = find_attribute(record.attributes, name))
      symptom.evidence.emplace_back(name, *value);
  return symptom;
}

constexpr std::int64_t kNoRecoveryNeeded = 0;
// Log rules of the catalog.
constexpr std::string_view kAmdLoadedRule = "gpu.amd_loaded";
constexpr std::string_view kAmdResetRule = "gpu.amd_reset_done";

bool is_about(const Retraction& one, const Observation& record) {
  return record.name == kXidEvent && one.code == code_of(record) && one.gpu == gpu_of(record.subject) &&
         one.injected == is_injected(record);
}

}  // namespace

Findings symptoms_in(const Observations& records, const catalog::Catalog& facts) {
  Findings symptoms;
  for (const Observation& record : records) {
    if (const auto* rule = facts.log_rule(record.name); rule != nullptr && rule->kind == "aer") {
      if (record.subject.kind == SubjectKind::gpu && counts(record))
        symptoms.push_back(pcie_symptom(record, *rule));
      continue;
    }
    const bool is_error = record.name == kXidEvent || record.name == kSxidEvent;
    if (!is_error || !counts(record) || !record.value) continue;
    if (find_attribute(record.attributes, "recoveryTo") != nullptr) continue;
    const catalog::Xid* xid = facts.xid(code_of(record));
    if (xid != nullptr && !xid->takes_back.empty()) continue;  // it ends other faults
    const DriverAdvice advice = advice_on_event(facts, record);
    // An error that the switch corrected is not a symptom.
    if (record.name == kXidEvent || advice.health != Health::healthy)
      symptoms.push_back(symptom_of(record, code_of(record), advice));
  }
  return symptoms;
}

std::optional<SeenReset> reset_in(const Observation& record) {
  if (record.name == kSeenReset) return SeenReset{record.subject, false};
  if (!may_act(record)) return std::nullopt;
  if (record.name == kDriverLoadedEvent || record.name == kAmdLoadedRule)
    return SeenReset{host_subject(), is_injected(record)};
  if (record.name == kAmdResetRule) return SeenReset{record.subject, is_injected(record)};
  if (record.name != kXidEvent) return std::nullopt;
  const Value* to = find_attribute(record.attributes, "recoveryTo");
  if (to == nullptr || *to != Value{kNoRecoveryNeeded}) return std::nullopt;
  return SeenReset{gpu_of(record.subject), is_injected(record)};
}

std::vector<Subject> resets_in(const Observations& records) {
  std::vector<Subject> gpus;
  for (const Observation& record : records) {
    const auto seen = reset_in(record);
    if (seen && !seen->injected && std::ranges::find(gpus, seen->gpu) == gpus.end())
      gpus.push_back(seen->gpu);
  }
  return gpus;
}

std::vector<Retraction> retractions_by(const Observation& record, const catalog::Catalog& facts) {
  if (record.name != kXidEvent || !may_act(record)) return {};
  const catalog::Xid* xid = facts.xid(code_of(record));
  if (xid == nullptr) return {};
  std::vector<Retraction> result;
  for (const std::uint32_t code : xid->takes_back)
    result.push_back({gpu_of(record.subject), code, record.time.mono, is_injected(record)});
  return result;
}

std::vector<Retraction> retractions_in(const Observations& records, const catalog::Catalog& facts) {
  std::vector<Retraction> result;
  for (const Observation& record : records) {
    if (may_act(record)) std::erase_if(result, [&](const Retraction& one) { return is_about(one, record); });
    for (Retraction& one : retractions_by(record, facts))
      if (!one.injected) result.push_back(std::move(one));
  }
  return result;
}

Interpretation interpret_records(InterpretInput input) {
  Interpretation meaning;
  meaning.records = joined(std::move(input.news), input.earlier);
  meaning.symptoms = symptoms_in(meaning.records, input.facts);
  meaning.resets = resets_in(meaning.records);
  meaning.retractions = retractions_in(meaning.records, input.facts);
  return meaning;
}

bool is_retracted(const Observation& record, const std::vector<Retraction>& retractions) {
  return std::ranges::any_of(retractions, [&](const Retraction& one) {
    return is_about(one, record) && record.time.mono <= one.by;
  });
}

}  // namespace autopilot::checks
