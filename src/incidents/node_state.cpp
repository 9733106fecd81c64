// SPDX-License-Identifier: Apache-2.0
#include "incidents/node_state.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "core/parse.hpp"
#include "incidents/causes.hpp"

namespace autopilot::incidents {
namespace {

// 12 of "0123abcd-12".
std::uint64_t number_of(std::string_view incident) {
  const auto dash = incident.rfind('-');
  if (dash == std::string_view::npos) return 0;
  return parse_number<std::uint64_t>(incident.substr(dash + 1)).value_or(0);
}

EventKind kind_of(TransitionKind kind) {
  switch (kind) {
    case TransitionKind::raised:
      return EventKind::finding_raised;
    case TransitionKind::changed:
      return EventKind::finding_changed;
    case TransitionKind::cleared:
      return EventKind::finding_cleared;
  }
  return EventKind::finding_changed;
}

EventKind kind_of(const Incident& incident, const std::set<std::string>& opened) {
  if (incident.state == IncidentState::closed) return EventKind::incident_closed;
  return opened.contains(incident.id) ? EventKind::incident_opened : EventKind::incident_changed;
}

Event event_of(const Transition& transition) {
  const Finding& finding = transition.finding;
  Event event;
  event.kind = kind_of(transition.kind);
  event.check = transition.check;
  event.subject = finding.subject;
  event.health = finding.health;
  event.reason = finding.reason;
  event.message = finding.message;
  event.injected = finding.injected;
  event.details = finding.evidence;
  if (!transition.incident.empty()) event.details.emplace_back("incident", transition.incident);
  if (transition.kind == TransitionKind::cleared) {
    if (transition.rule)
      event.details.emplace_back("clearRule", std::string(catalog::to_string(*transition.rule)));
  } else {
    event.details.emplace_back("held", finding.held);
  }
  return event;
}

Event event_of(const Incident& incident) {
  Event event;
  event.check = incident.check;
  event.subject = incident.blamed;
  event.health = incident.health;
  event.reason = incident.reason;
  event.message = incident.summary;
  event.injected = incident.injected;
  event.details = {{"incident", incident.id},
                   {"state", std::string(to_string(incident.state))},
                   {"action", std::string(to_string(incident.action))},
                   {"confidence", incident.confidence},
                   {"acknowledged", incident.acknowledged.has_value()}};
  if (!incident.cause.empty()) event.details.emplace_back("cause", incident.cause);
  if (incident.end) event.details.emplace_back("end", std::string(to_string(*incident.end)));
  if (incident.closed) event.details.emplace_back("closedBy", incident.closed_by);
  return event;
}

}  // namespace

NodeState::NodeState(ReasonLookup reasons, const std::vector<catalog::Cause>& causes, std::string boot_id)
    : tracker_(reasons, std::move(boot_id)), book_(std::move(reasons), causes) {}

void NodeState::leave_out_what_is_here(SavedState& saved) const {
  std::set<std::string> known;
  std::set<std::string> left;
  std::erase_if(saved.findings, [&](const SavedFinding& finding) {
    const bool is_here = tracker_.has(finding.check, finding.finding);
    (is_here ? known : left).insert(incident_of(finding));
    return is_here;
  });
  std::erase_if(saved.incidents, [&](const Incident& incident) {
    return known.contains(incident.id) && !left.contains(incident.id);
  });
  for (Incident& incident : saved.incidents)
    std::erase_if(incident.members, [this](const IncidentMember& member) {
      return stands(member) && tracker_.has(member.check, member.finding);
    });
}

Changes NodeState::restore(SavedState saved, Instant now) {
  leave_out_what_is_here(saved);
  tracker_.restore_next_incident(saved.next_incident);
  for (const auto& incident : saved.incidents)
    tracker_.restore_next_incident(number_of(incident.id) + 1);
  book_.restore(saved.incidents);
  tracker_.restore(saved.findings, now);
  std::set<std::string, std::less<>> live;
  std::vector<Transition> without_incident;
  for (auto& raised : tracker_.raised()) {
    live.insert(raised.incident);
    if (!book_.contains(raised.incident)) without_incident.push_back(std::move(raised));
  }
  auto changes = apply(std::move(without_incident), now);
  std::ranges::move(book_.close_orphans(live, now.wall), std::back_inserter(changes.incidents));
  return changes;
}

SavedState NodeState::save() const {
  return {tracker_.save(), book_.incidents(), tracker_.next_incident()};
}

Changes NodeState::complete_round(std::string_view check, Instant now, const Findings& findings,
                                  const Observations& observations, const Findings& records) {
  auto concerned = book_.note_users(observations);
  auto changes = apply(tracker_.complete_round(check, now, findings, observations), now);
  // First, because the run itself may close an incident.
  changes.incidents.insert(changes.incidents.begin(), std::make_move_iterator(concerned.begin()),
                           std::make_move_iterator(concerned.end()));
  for (const Finding& record : records)
    if (auto applied = book_.note_record(
            check, record, [this] { return tracker_.new_incident_id(); }, now.wall))
      take(std::move(*applied), changes);
  std::ranges::move(book_.expire(now.wall), std::back_inserter(changes.incidents));
  book_.refresh(check, tracker_.findings(check));
  changes.resets = tracker_.take_seen_resets();
  return changes;
}

Changes NodeState::note_users(const Observations& observations) {
  Changes changes;
  changes.incidents = book_.note_users(observations);
  return changes;
}

Changes NodeState::gpu_was_reset(const Subject& gpu, Instant now) {
  return apply(tracker_.gpu_was_reset(gpu), now);
}

Changes NodeState::taken_back(const Subject& gpu, std::uint32_t code, Instant now) {
  return apply(tracker_.taken_back(gpu, code), now);
}

Result<Changes> NodeState::acknowledge(std::string_view incident, const Acknowledgement& acknowledgement,
                                       Instant now) {
  const auto* acknowledged = book_.acknowledge(incident, acknowledgement);
  if (acknowledged == nullptr)
    return fail(Errc::not_found, "no open incident " + std::string(incident.substr(0, 64)));
  Changes changes;
  changes.incidents.push_back(*acknowledged);
  auto cleared = apply(tracker_.acknowledge(incident), now);
  if (!cleared.empty()) return cleared;
  return changes;
}

Changes NodeState::apply(std::vector<Transition> transitions, Instant now) {
  Changes changes;
  // Oldest first: a cause before its consequences.
  std::ranges::stable_sort(transitions, {}, [](const Transition& one) { return one.finding.since; });
  for (auto& transition : transitions) {
    if (transition.incident.empty()) continue;
    auto applied = book_.apply(transition, now.wall);
    if (applied.incident.id != transition.incident) {
      tracker_.move_to_incident(transition.incident, applied.incident.id);
      transition.incident = applied.incident.id;
    }
    take(std::move(applied), changes);
  }
  changes.transitions = std::move(transitions);
  return changes;
}

void NodeState::take(IncidentBook::Applied applied, Changes& changes) {
  const auto note = [&changes](Incident incident) {
    const auto earlier = std::ranges::find(changes.incidents, incident.id, &Incident::id);
    if (earlier == changes.incidents.end())
      changes.incidents.push_back(std::move(incident));
    else
      *earlier = std::move(incident);
  };
  for (Incident& merged : applied.merged) {
    tracker_.move_to_incident(merged.id, applied.incident.id);
    note(std::move(merged));
  }
  if (applied.is_new) changes.opened.insert(applied.incident.id);
  note(std::move(applied.incident));
}

std::vector<Event> to_events(const Changes& changes, WallTime time, std::string_view boot_id,
                             bool simulated) {
  std::vector<Event> events;
  for (const auto& transition : changes.transitions)
    events.push_back(event_of(transition));
  for (const auto& incident : changes.incidents) {
    events.push_back(event_of(incident));
    events.back().kind = kind_of(incident, changes.opened);
  }
  for (auto& event : events) {
    event.time = time;
    event.boot_id = boot_id;
    event.simulated = simulated;
  }
  return events;
}

}  // namespace autopilot::incidents
