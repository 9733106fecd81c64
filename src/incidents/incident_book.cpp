// SPDX-License-Identifier: Apache-2.0
#include "incidents/incident_book.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "core/action.hpp"
#include "incidents/causes.hpp"
#include "incidents/evidence.hpp"
#include "incidents/gpu_users.hpp"

namespace autopilot::incidents {
namespace {

// The driver's final verdict on a GPU outranks the actions of single codes.
constexpr std::string_view kDriverVerdict = "xid_verdict";

std::string closing_word(const Transition& transition) {
  if (!transition.rule) return "injection_ended";
  return std::string(catalog::to_string(*transition.rule));
}

bool has_findings(const Incident& incident) {
  return std::ranges::any_of(incident.members,
                             [](const IncidentMember& member) { return !is_record(member.finding); });
}

// A process may repeat its fault during its whole lifetime.
bool is_of_same_process(const Finding& a, const Finding& b) {
  const std::string pid = word_of(a, "pid");
  return !pid.empty() && pid == word_of(b, "pid") && a.subject == b.subject;
}

WallTime last_record(const Incident& incident) {
  WallTime last = incident.opened;
  for (const IncidentMember& member : incident.members)
    last = std::max(last, member.finding.last_seen);
  return last;
}

std::int64_t records_in(const Finding& record) {
  const Value* value = find_attribute(record.evidence, "count");
  return value == nullptr ? 1 : static_cast<std::int64_t>(as_number(*value).value_or(1));
}

bool is_same_error(const IncidentMember& member, std::string_view check, const Finding& record) {
  return is_same(member, check, record) && word_of(member.finding, "rule") == word_of(record, "rule");
}

}  // namespace

IncidentBook::IncidentBook(ReasonLookup reasons, const std::vector<catalog::Cause>& causes)
    : reasons_(std::move(reasons)), rules_(causes) {}

void IncidentBook::restore(const std::vector<Incident>& incidents) {
  for (const auto& incident : incidents)
    if (incident.state != IncidentState::closed && !incident.members.empty())
      open_.insert_or_assign(incident.id, incident);
}

IncidentBook::Applied IncidentBook::apply(const Transition& transition, WallTime now) {
  Applied applied;
  IncidentMember member{transition.check, transition.finding, false, std::nullopt};
  auto found = open_.find(transition.incident);
  if (found == open_.end()) {
    found = place(member, transition.incident, applied.merged, now);
    applied.is_new = found->second.members.size() == 1;
  }
  Incident& incident = found->second;
  const auto known = std::ranges::find_if(incident.members, [&](const IncidentMember& one) {
    return is_same(one, transition.check, transition.finding);
  });
  if (known != incident.members.end()) {
    retell(*known, transition.finding);
    known->cleared = transition.kind == TransitionKind::cleared ? std::optional(now) : std::nullopt;
  }
  incident.updated = now;
  if (transition.kind == TransitionKind::cleared && std::ranges::none_of(incident.members, stands)) {
    applied.incident = close(found, closing_word(transition), now);
    return applied;
  }
  show(incident);
  add_gpu_users(incident, users_);
  applied.incident = incident;
  return applied;
}

std::optional<IncidentBook::Applied> IncidentBook::note_record(std::string_view check, const Finding& record,
                                                               const std::function<std::string()>& new_id,
                                                               WallTime now) {
  if (!is_record(record)) return note_line(check, record, now);
  for (auto& [open_id, incident] : open_) {
    IncidentMember* known = counted_by(incident, check, record);
    if (known == nullptr) continue;
    const auto* rule = rules_.find(incident.cause);
    if (rule != nullptr && record.since > known->finding.last_seen + rule->window &&
        !is_of_same_process(known->finding, record))
      continue;
    add_count(known->finding, record);
    recounted_.insert(open_id);
    // Another program may repeat the fault: the incident then names both.
    if (!add_gpu_users(incident, {std::string(check), record, false, std::nullopt}, users_))
      return std::nullopt;
    return Applied{incident, false, {}};
  }
  IncidentMember member{std::string(check), record, false, std::nullopt};
  const bool belongs = that_takes(member) != open_.end();
  if (!belongs && rules_.cause_of(record) == nullptr) {
    if (rules_.may_take(record)) waiting_.keep(check, record);
    return std::nullopt;
  }
  Applied applied;
  if (!belongs) make_room_for_records(applied.merged, now);
  const auto found = place(member, belongs ? std::string() : new_id(), applied.merged, now);
  applied.is_new = found->second.members.size() == 1;
  found->second.updated = now;
  show(found->second);
  add_gpu_users(found->second, users_);
  applied.incident = found->second;
  return applied;
}

std::vector<Incident> IncidentBook::take_recounted() {
  std::vector<Incident> recounted;
  for (const std::string& id : std::exchange(recounted_, {}))
    if (const auto found = open_.find(id); found != open_.end()) recounted.push_back(found->second);
  return recounted;
}

// A finding already counts the record. It becomes a member only if it names another process.
std::optional<IncidentBook::Applied> IncidentBook::note_line(std::string_view check, const Finding& record,
                                                             WallTime now) {
  for (auto& [id, incident] : open_) {
    const auto counting = std::ranges::find_if(incident.members, [&](const IncidentMember& member) {
      return stands(member) && is_same(member, check, record);
    });
    if (counting == incident.members.end()) continue;
    if (is_of_one_process(counting->finding, record)) return std::nullopt;
    IncidentMember line{std::string(check), record, counting->sympathetic, std::nullopt};
    line.finding.health = Health::healthy;
    if (IncidentMember* known = counted_by(incident, check, line.finding)) {
      add_count(known->finding, line.finding);
      recounted_.insert(id);
      return std::nullopt;
    }
    add(incident, std::move(line));
    incident.updated = now;
    show(incident);
    add_gpu_users(incident, users_);
    return Applied{incident, false, {}};
  }
  return std::nullopt;
}

// Adds the waiting records that are consequences of the cause.
void IncidentBook::take_waiting(Incident& incident) {
  const catalog::Cause* rule = rules_.find(incident.cause);
  if (rule == nullptr) return;
  const IncidentMember cause = cause_member(incident);
  for (IncidentMember& member : waiting_.take([&](const Finding& record) {
         return record.injected == incident.injected && takes(*rule, cause.finding, stands(cause), record);
       }))
    add(incident, std::move(member));
}

// The open incident that the member belongs to: preferably of the same device, then the newest. Sets
// member.sympathetic.
IncidentBook::Open::iterator IncidentBook::that_takes(IncidentMember& member) {
  auto best = open_.end();
  bool best_is_near = false;
  for (auto found = open_.begin(); found != open_.end(); ++found) {
    const Incident& incident = found->second;
    const catalog::Cause* rule = rules_.find(incident.cause);
    if (rule == nullptr || incident.injected != member.finding.injected) continue;
    const IncidentMember& cause = cause_member(incident);
    const bool is_consequence = takes(*rule, cause.finding, stands(cause), member.finding);
    if (!is_consequence && !is_same_cause(*rule, cause.finding, member.finding)) continue;
    const bool is_near = device_of(cause.finding.subject) == device_of(member.finding.subject);
    if (best != open_.end() &&
        (best_is_near > is_near || (best_is_near == is_near && best->second.opened > incident.opened)))
      continue;
    best = found;
    best_is_near = is_near;
    member.sympathetic = is_consequence;
  }
  return best;
}

std::vector<IncidentBook::Open::iterator> IncidentBook::taken_by(const catalog::Cause& cause,
                                                                 const Finding& root) {
  std::vector<Open::iterator> taken;
  for (auto found = open_.begin(); found != open_.end(); ++found) {
    const Incident& incident = found->second;
    const Finding& finding = cause_member(incident).finding;
    if (incident.injected != root.injected || !takes(cause, root, true, finding)) continue;
    const catalog::Cause* rule = rules_.find(incident.cause);
    if (rule == nullptr || CauseRules::outranks(cause, *rule)) taken.push_back(found);
  }
  std::ranges::stable_sort(taken, {}, [](const Open::iterator& one) { return one->second.opened; });
  return taken;
}

IncidentBook::Open::iterator IncidentBook::place(const IncidentMember& newcomer, const std::string& id,
                                                 std::vector<Incident>& merged, WallTime now) {
  IncidentMember member = newcomer;
  const catalog::Cause* cause = rules_.cause_of(member.finding);
  auto found = that_takes(member);
  const bool is_outranked =
      found != open_.end() &&
      (cause == nullptr || !CauseRules::outranks(*cause, *rules_.find(found->second.cause)));
  const auto taken =
      cause == nullptr || is_outranked ? std::vector<Open::iterator>{} : taken_by(*cause, member.finding);
  if (cause == nullptr || taken.empty()) {
    if (found == open_.end()) {
      Incident opened;
      opened.id = id;
      opened.cause = cause == nullptr ? "" : cause->id;
      opened.opened = member.finding.since;
      opened.injected = member.finding.injected;
      found = open_.emplace(id, std::move(opened)).first;
    }
    add(found->second, std::move(member));
    take_waiting(found->second);
    return found;
  }
  // The consequences came first: the oldest of their incidents becomes the incident of the cause.
  const auto kept = taken.front();
  for (IncidentMember& one : kept->second.members)
    one.sympathetic = true;
  for (const auto& other : std::span(taken).subspan(1)) {
    for (IncidentMember one : other->second.members) {
      one.sympathetic = true;
      add(kept->second, std::move(one));
    }
    kept->second.further += other->second.further;
    merged.push_back(close(other, "merged_into:" + kept->first, now));
  }
  kept->second.cause = cause->id;
  kept->second.opened = std::min(kept->second.opened, member.finding.since);
  member.sympathetic = false;
  add(kept->second, std::move(member));
  take_waiting(kept->second);
  return kept;
}

// Never drops the cause.
void IncidentBook::add(Incident& incident, IncidentMember member) const {
  if (incident.members.size() >= Incident::kMaxMembers) {
    const auto last = std::ranges::find_if(incident.members.rbegin(), incident.members.rend(),
                                           [](const IncidentMember& one) { return is_record(one.finding); });
    ++incident.further;
    if (last == incident.members.rend() || is_record(member.finding)) return;
    incident.members.erase(std::next(last).base());
  }
  incident.members.push_back(std::move(member));
  std::ranges::stable_sort(incident.members, {}, [](const IncidentMember& one) { return one.finding.since; });
}

void IncidentBook::show(Incident& incident) const {
  const IncidentMember& cause = cause_member(incident);
  incident.check = cause.check;
  incident.reason = cause.finding.reason;
  incident.blamed = cause.finding.subject;
  incident.action = cause.finding.action;
  incident.summary = cause.finding.message;
  incident.confidence = confidence_of(cause.finding, reasons_);
  incident.health = Health::healthy;
  bool is_held = has_findings(incident);
  const catalog::Cause* rule = rules_.find(incident.cause);
  std::optional<Action> verdict;
  for (const IncidentMember& member : incident.members) {
    if (!stands(member)) continue;
    if (incident.health != Health::failed) incident.health = member.finding.health;
    is_held = is_held && member.finding.held;
    if (member.finding.reason == kDriverVerdict) verdict = member.finding.action;
    // The strongest action of all root findings on this device applies.
    if (rule == nullptr || !is_root(*rule, member.finding)) continue;
    if (device_of(member.finding.subject) != device_of(cause.finding.subject)) continue;
    incident.action = stronger(incident.action, member.finding.action);
    incident.confidence = std::max(incident.confidence, confidence_of(member.finding, reasons_));
  }
  incident.action = verdict.value_or(incident.action);
  incident.state = is_held ? IncidentState::recovering : IncidentState::open;
  if (rule != nullptr) blame(incident, *rule);
}

std::vector<Incident> IncidentBook::note_users(const Observations& observations) {
  std::vector<Incident> changed;
  if (!users_.note(observations)) return changed;
  for (auto& [id, incident] : open_)
    if (add_gpu_users(incident, users_)) changed.push_back(incident);
  return changed;
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

void IncidentBook::make_room_for_records(std::vector<Incident>& closed, WallTime now) {
  std::vector<Open::iterator> of_records;
  for (auto found = open_.begin(); found != open_.end(); ++found)
    if (!has_findings(found->second)) of_records.push_back(found);
  if (of_records.size() < kMaxOfRecords) return;
  const auto oldest = std::ranges::min_element(
      of_records, {}, [](const Open::iterator& one) { return last_record(one->second); });
  closed.push_back(close(*oldest, "limit_reached", now));
}

std::vector<Incident> IncidentBook::expire(WallTime now) {
  waiting_.forget_before(now - rules_.longest_window());
  std::vector<Incident> closed;
  for (auto next = open_.begin(); next != open_.end();) {
    const auto found = next++;
    if (has_findings(found->second)) continue;
    const auto* facts = reasons_(found->second.reason);
    const Duration after = facts == nullptr ? Duration{0} : facts->clear_after;
    if (now - last_record(found->second) >= after)
      closed.push_back(close(found, std::string(catalog::to_string(catalog::ClearRule::expiry)), now));
  }
  return closed;
}

void IncidentBook::refresh(std::string_view check, const Findings& findings) {
  for (auto& [id, incident] : open_) {
    bool is_changed = false;
    for (IncidentMember& member : incident.members) {
      if (member.check != check || !stands(member)) continue;
      const auto current = std::ranges::find_if(findings, [&](const Finding& finding) {
        return is_same(member, check, finding) && finding.health == member.finding.health;
      });
      if (current == findings.end()) continue;
      retell(member, *current);
      is_changed = true;
    }
    if (is_changed) show(incident);
  }
}

const Incident* IncidentBook::acknowledge(std::string_view id, Acknowledgement acknowledgement) {
  const auto found = open_.find(id);
  if (found == open_.end()) return nullptr;
  found->second.updated = acknowledgement.at;
  found->second.acknowledged = std::move(acknowledgement);
  return &found->second;
}

std::vector<Incident> IncidentBook::close_orphans(const std::set<std::string, std::less<>>& live,
                                                  WallTime now) {
  std::vector<Incident> closed;
  for (auto next = open_.begin(); next != open_.end();) {
    const auto incident = next++;
    if (has_findings(incident->second) && !live.contains(incident->first))
      closed.push_back(close(incident, "check_removed", now));
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
