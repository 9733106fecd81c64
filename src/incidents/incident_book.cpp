// SPDX-License-Identifier: Apache-2.0
#include "incidents/incident_book.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace autopilot::incidents {
namespace {

std::string closing_word(const Transition& transition) {
  if (!transition.rule) return "injection_ended";
  return std::string(catalog::to_string(*transition.rule));
}

void show(Incident& incident, const Finding& finding) {
  incident.blamed = finding.subject;
  incident.health = finding.health;
  incident.action = finding.action;
  incident.summary = finding.message;
  incident.members.front().finding = finding;
}

}  // namespace

IncidentBook::IncidentBook(ReasonLookup reasons) : reasons_(std::move(reasons)) {}

void IncidentBook::restore(const std::vector<Incident>& incidents) {
  for (const auto& incident : incidents)
    if (incident.state != IncidentState::closed && !incident.members.empty())
      open_.insert_or_assign(incident.id, incident);
}

Incident IncidentBook::apply(const Transition& transition, WallTime now) {
  const Finding& finding = transition.finding;
  auto found = open_.find(transition.incident);
  if (found == open_.end()) {
    Incident opened;
    opened.id = transition.incident;
    opened.check = transition.check;
    opened.reason = finding.reason;
    const auto* reason = reasons_(finding.reason);
    opened.confidence = reason == nullptr ? catalog::Reason{}.confidence : reason->confidence;
    opened.opened = finding.since;
    opened.injected = finding.injected;
    opened.members.push_back({transition.check, finding, false});
    found = open_.emplace(opened.id, std::move(opened)).first;
  }
  Incident& incident = found->second;
  show(incident, finding);
  incident.updated = now;
  if (transition.kind != TransitionKind::cleared) {
    incident.state = finding.held ? IncidentState::recovering : IncidentState::open;
    return incident;
  }
  return close(found, closing_word(transition), now);
}

Incident IncidentBook::close(Open::iterator found, std::string by, WallTime now) {
  Incident closed = std::move(found->second);
  open_.erase(found);
  closed.state = IncidentState::closed;
  closed.updated = now;
  closed.closed = now;
  closed.closed_by = std::move(by);
  return closed;
}

void IncidentBook::refresh(std::string_view check, const Findings& findings) {
  for (auto& [id, incident] : open_) {
    if (incident.check != check) continue;
    const auto current = std::ranges::find_if(findings, [&](const Finding& finding) {
      return finding.subject == incident.blamed && finding.reason == incident.reason &&
             finding.injected == incident.injected && finding.health == incident.health;
    });
    if (current != findings.end()) show(incident, *current);
  }
}

const Incident* IncidentBook::acknowledge(std::string_view id, WallTime now) {
  const auto found = open_.find(id);
  if (found == open_.end()) return nullptr;
  found->second.acknowledged = true;
  found->second.updated = now;
  return &found->second;
}

std::vector<Incident> IncidentBook::close_orphans(const std::set<std::string, std::less<>>& live,
                                                  WallTime now) {
  std::vector<Incident> closed;
  for (auto next = open_.begin(); next != open_.end();) {
    const auto incident = next++;
    if (!live.contains(incident->first)) closed.push_back(close(incident, "check_removed", now));
  }
  return closed;
}

std::vector<Incident> IncidentBook::incidents() const {
  std::vector<Incident> result;
  for (const auto& [id, incident] : open_)
    result.push_back(incident);
  std::ranges::stable_sort(result, {}, &Incident::opened);
  return result;
}

}  // namespace autopilot::incidents
