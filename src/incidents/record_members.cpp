// SPDX-License-Identifier: Apache-2.0
#include "incidents/record_members.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "incidents/evidence.hpp"

namespace autopilot::incidents {
namespace {

std::int64_t records_in(const Finding& record) {
  const Value* value = find_attribute(record.evidence, "count");
  return value == nullptr ? 1 : static_cast<std::int64_t>(as_number(*value).value_or(1));
}

bool is_same_error(const IncidentMember& member, std::string_view check, const Finding& record) {
  return is_same(member, check, record) && word_of(member.finding, "rule") == word_of(record, "rule");
}

}  // namespace

bool is_same(const IncidentMember& member, std::string_view check, const Finding& finding) {
  return member.check == check && member.finding.subject == finding.subject &&
         member.finding.reason == finding.reason && member.finding.injected == finding.injected &&
         is_record(member.finding) == is_record(finding) && error_code(member.finding) == error_code(finding);
}

bool is_of_one_process(const Finding& a, const Finding& b) {
  const std::string pid = word_of(a, "pid");
  if (pid != word_of(b, "pid")) return false;
  return !pid.empty() || word_of(a, "process") == word_of(b, "process");
}

bool is_same_record(const IncidentMember& member, std::string_view check, const Finding& record) {
  return is_same_error(member, check, record) && is_of_one_process(member.finding, record);
}

void add_count(Finding& record, const Finding& more) {
  const std::int64_t count = records_in(record) + records_in(more);
  std::erase_if(record.evidence, [](const auto& entry) { return entry.first == "count"; });
  record.evidence.emplace_back("count", count);
  record.last_seen = std::max(record.last_seen, more.last_seen);
}

IncidentMember* counted_by(Incident& incident, std::string_view check, const Finding& record) {
  IncidentMember* newest = nullptr;
  std::size_t processes = 0;
  for (IncidentMember& member : incident.members) {
    if (is_same_record(member, check, record)) return &member;
    if (!is_same_error(member, check, record)) continue;
    ++processes;
    newest = &member;
  }
  return processes < kMaxProcessesOfOneError ? nullptr : newest;
}

void retell(IncidentMember& member, const Finding& current) {
  const bool keeps_line =
      !member.cleared && error_code(current) && !is_of_one_process(member.finding, current);
  Attributes own = std::move(member.finding.evidence);
  member.finding = current;
  if (keeps_line) member.finding.evidence = std::move(own);
}

void WaitingRecords::keep(std::string_view check, const Finding& record) {
  const auto known = std::ranges::find_if(
      waiting_, [&](const IncidentMember& member) { return is_same_record(member, check, record); });
  if (known != waiting_.end()) {
    add_count(known->finding, record);
    return;
  }
  if (waiting_.size() >= kMax) waiting_.erase(waiting_.begin());
  waiting_.push_back({std::string(check), record, true, std::nullopt});
}

void WaitingRecords::forget_before(WallTime time) {
  std::erase_if(waiting_, [time](const IncidentMember& member) { return member.finding.last_seen < time; });
}

}  // namespace autopilot::incidents
