// SPDX-License-Identifier: Apache-2.0
#include "incidents/blame.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>

#include "incidents/cause_rules.hpp"
#include "incidents/evidence.hpp"
#include "incidents/placement.hpp"

namespace autopilot::incidents {
namespace {

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

}  // namespace autopilot::incidents
