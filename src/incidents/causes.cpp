// SPDX-License-Identifier: Apache-2.0

#include "incidents/causes.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>

#include "core/incident.hpp"
#include "incidents/devices.hpp"
#include "incidents/evidence.hpp"

namespace autopilot::incidents {
namespace {

constexpr std::string_view kXid = "xid_";
constexpr std::string_view kSxid = "sxid_";

// A record may name the earlier error that it follows; it then stands for a lost record of that error.
bool is_code_of(const Finding& finding, std::string_view digits) {
  for (const std::string_view name : {"code", "causedBy"})
    if (const Value* code = find_attribute(finding.evidence, name);
        code != nullptr && to_string(*code) == digits)
      return true;
  return false;
}

bool has_any(const Finding& finding, const std::vector<std::string>& words) {
  return std::ranges::any_of(words, [&](const std::string& word) { return has_word(finding, word); });
}

// A record may repeat, so its last time counts too; of a finding only its beginning counts.
bool is_within(const catalog::Cause& cause, const Finding& root, const Finding& other) {
  const WallTime last = is_record(other) ? std::max(other.since, other.last_seen) : other.since;
  return other.since <= root.since + cause.window && last + cause.window_before >= root.since;
}

bool is_same_device(const Finding& a, const Finding& b) {
  return device_of(a.subject) == device_of(b.subject) || is_on_same_disk(a, b) || is_at_same_address(a, b);
}

// Threads of one process may differ in name; processes of one job share a name.
bool is_same_program(const Finding& a, const Finding& b) {
  const Value* pid = find_attribute(a.evidence, "pid");
  const Value* other_pid = find_attribute(b.evidence, "pid");
  if (pid != nullptr && other_pid != nullptr && *pid == *other_pid) return true;
  const Value* one = find_attribute(a.evidence, "process");
  const Value* other = find_attribute(b.evidence, "process");
  return one == nullptr || other == nullptr || *one == *other;
}

bool is_named_root(const catalog::Cause& cause, const Finding& finding) {
  const auto code = error_code(finding);
  if (!code) return false;
  const bool is_switch = finding.subject.kind == SubjectKind::nvswitch;
  const std::string word = std::string(is_switch ? kSxid : kXid) + std::to_string(*code);
  return std::ranges::find(cause.roots, word) != cause.roots.end();
}

// The process that the record names; if it names none, its subject.
Subject program_of(const Finding& finding) {
  const std::string pid = word_of(finding, "pid");
  if (pid.empty()) return finding.subject;
  Subject subject;
  subject.kind = SubjectKind::process;
  subject.key = pid;
  return subject;
}

bool names_root(const catalog::Cause& cause, const Finding& finding) {
  return std::ranges::any_of(cause.roots,
                             [&finding](const std::string& word) { return has_word(finding, word); });
}

// Several faulty links of one GPU point to the GPU, and so does one link whose GPU reports the cause too.
bool has_lost_several_links(const Incident& incident, const catalog::Cause& cause, const Subject& device) {
  std::set<Subject> links;
  bool has_device_report = false;
  for (const IncidentMember& member : incident.members) {
    const Subject& subject = member.finding.subject;
    if (device_of(subject) != device) continue;
    if (subject.kind == SubjectKind::nvlink) links.insert(subject);
    has_device_report |= subject == device && names_root(cause, member.finding);
  }
  return links.size() > 1 || (!links.empty() && has_device_report);
}

std::size_t devices_with_cause(const Incident& incident) {
  std::set<Subject> devices;
  for (const IncidentMember& member : incident.members)
    if (!member.sympathetic) devices.insert(device_of(member.finding.subject));
  return devices.size();
}

}  // namespace

bool has_word(const Finding& finding, std::string_view word) {
  if (finding.subject.kind == SubjectKind::nvswitch) {
    if (!word.starts_with(kSxid)) return false;
    const auto rest = word.substr(kSxid.size());
    if (rest == "fatal") return finding.health == Health::failed;
    if (rest == "nonfatal") return finding.health == Health::degraded;
    return is_code_of(finding, rest);
  }
  if (finding.reason == word) return true;
  return word.starts_with(kXid) && is_code_of(finding, word.substr(kXid.size()));
}

const catalog::Cause* CauseRules::cause_of(const Finding& finding) const {
  const auto found =
      std::ranges::find_if(*causes_, [&](const catalog::Cause& cause) { return is_root(cause, finding); });
  return found == causes_->end() ? nullptr : &*found;
}

const catalog::Cause* CauseRules::find(std::string_view id) const {
  const auto found = std::ranges::find(*causes_, id, &catalog::Cause::id);
  return found == causes_->end() ? nullptr : &*found;
}

bool CauseRules::may_take(const Finding& finding) const {
  return std::ranges::any_of(*causes_, [&](const catalog::Cause& cause) {
    return has_any(finding, cause.takes) || has_any(finding, cause.takes_anywhere);
  });
}

Duration CauseRules::longest_window() const {
  Duration longest{0};
  for (const catalog::Cause& cause : *causes_)
    longest = std::max(longest, cause.window_before);
  return longest;
}

bool is_root(const catalog::Cause& cause, const Finding& finding) {
  return has_any(finding, cause.roots);
}

bool takes(const catalog::Cause& cause, const Finding& root, bool root_stands, const Finding& other) {
  // A root of the rule is not one of its consequences.
  if (!is_record(other) && is_same_device(root, other) && is_named_root(cause, other)) return false;
  const bool concerns_device = is_same_device(root, other) || other.subject.kind == SubjectKind::host;
  if (root_stands && concerns_device && !is_record(other) && has_any(other, cause.explains)) return true;
  if (!is_within(cause, root, other)) return false;
  return (concerns_device && has_any(other, cause.takes)) || has_any(other, cause.takes_anywhere);
}

bool is_same_cause(const catalog::Cause& cause, const Finding& root, const Finding& other) {
  if (!is_root(cause, other)) return false;
  if (is_record(root) && !is_same_program(root, other)) return false;
  if (is_same_device(root, other)) return is_within(cause, root, other) || !is_record(root);
  return cause.several.count > 0 && is_within(cause, root, other) && !lost_different_disks(root, other);
}

bool stands(const IncidentMember& member) {
  return !is_record(member.finding) && !member.cleared;
}

const IncidentMember& cause_member(const Incident& incident) {
  const auto found = std::ranges::find(incident.members, false, &IncidentMember::sympathetic);
  return found == incident.members.end() ? incident.members.front() : *found;
}

void blame(Incident& incident, const catalog::Cause& cause) {
  const Finding& finding = cause_member(incident).finding;
  const auto& several = cause.several;
  const bool is_several =
      several.count > 0 && devices_with_cause(incident) >= static_cast<std::size_t>(several.count);
  incident.end = cause.end;
  incident.because = is_several ? several.because : cause.because;
  if (is_several) {
    incident.action = several.action;
    incident.confidence = several.confidence;
    if (several.blames == "host") incident.blamed = host_subject();
    if (several.blames == "application") incident.end = FaultEnd::application;
  }
  if (const Subject device = device_of(finding.subject); has_lost_several_links(incident, cause, device))
    incident.blamed = device;
  if (incident.end == FaultEnd::application || several.blames == "application")
    incident.blamed = program_of(finding);
}

double confidence_of(const Finding& finding, const ReasonLookup& reasons) {
  if (const Value* value = find_attribute(finding.evidence, "confidence"); value != nullptr)
    if (const auto number = as_number(*value)) return *number;
  const catalog::Reason* facts = reasons ? reasons(finding.reason) : nullptr;
  return facts == nullptr ? catalog::Reason{}.confidence : facts->confidence;
}

}  // namespace autopilot::incidents
