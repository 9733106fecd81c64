// SPDX-License-Identifier: Apache-2.0
#include "incidents/finding_tracker.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

#include "incidents/evidence.hpp"

namespace autopilot::incidents {
namespace {

using catalog::ClearRule;

bool is_worse(Health a, Health b) {
  return a == Health::failed && b == Health::degraded;
}

// Under these rules absence proves nothing, so a milder report does not lower the health.
bool keeps_worst(ClearRule rule) {
  return rule != ClearRule::healthy_rounds && rule != ClearRule::expiry;
}

// Devices that answer in every run: silence is not health. A mount or an instance may be removed, and a
// diagnostic between nodes reports only faulty ports.
bool is_hardware(const Subject& subject) {
  const SubjectKind kind = subject.kind;
  return kind == SubjectKind::gpu || kind == SubjectKind::nvlink || kind == SubjectKind::nvswitch ||
         kind == SubjectKind::disk || (kind == SubjectKind::nic_port && !is_port_at_node(subject));
}

bool covers(const Subject& unseen, const Subject& subject) {
  return unseen.kind == SubjectKind::host || unseen == subject || unseen == device_of(subject);
}

void count_up(int& counter) {
  if (counter < std::numeric_limits<int>::max()) ++counter;
}

// Monotonic times of two boots are not comparable: only the wall clock spans both.
Duration age_by_wall_clock(Instant then, Instant now) {
  return std::max(Duration{0}, now.wall - then.wall);
}

// "0123abcd" of a boot id. Keeps only characters that are safe in URLs and labels.
std::string id_prefix(std::string_view boot_id) {
  constexpr std::size_t kDigits = 8;
  std::string prefix;
  for (const char c : boot_id)
    if (prefix.size() < kDigits && ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z'))) prefix += c;
  prefix.resize(kDigits, '0');
  return prefix;
}

}  // namespace

struct FindingTracker::Round {
  Instant now;
  std::vector<std::pair<Subject, std::vector<std::string>>> unseen;  // with the hidden reasons; empty: all
  std::set<Subject> listed;
  std::set<Subject> answered;

  Round(Instant time, const FindingTracker& tracker, const Findings& findings,
        const Observations& observations)
      : now(time) {
    for (const auto& finding : findings)
      if (finding.health == Health::unknown)
        unseen.emplace_back(finding.subject, tracker.facts(finding.reason).hides);
    for (const auto& observation : observations) {
      if (observation.is_event()) continue;
      listed.insert(observation.subject);
      if (observation.value) answered.insert(observation.subject);
    }
  }

  // Without a reason: true if an unknown finding covers the subject.
  [[nodiscard]] bool is_unseen(const Subject& subject, std::string_view reason = {}) const {
    return std::ranges::any_of(unseen, [&](const auto& other) {
      const auto& [unseen_subject, hides] = other;
      return covers(unseen_subject, subject) &&
             (hides.empty() || std::ranges::find(hides, reason) != hides.end());
    });
  }
};

std::string incident_of(const SavedFinding& saved) {
  auto memory = parse_memory(saved.state);
  return memory ? std::move(memory->incident) : std::string();
}

void release(SavedFinding& saved) {
  auto memory = parse_memory(saved.state);
  if (!memory) return;
  memory->released = true;
  saved.state = to_text(*memory);
}

FindingTracker::FindingTracker(ReasonLookup reasons, std::string boot_id)
    : reasons_(std::move(reasons)), boot_id_(std::move(boot_id)) {}

const catalog::Reason& FindingTracker::facts(std::string_view reason) const {
  static const catalog::Reason cautious;
  const auto* known = reasons_(reason);
  return known == nullptr ? cautious : *known;
}

std::string FindingTracker::new_incident_id() {
  return id_prefix(boot_id_) + '-' + std::to_string(next_incident_++);
}

void FindingTracker::restore_next_incident(std::uint64_t number) {
  next_incident_ = std::max(next_incident_, number);
}

std::pair<FindingTracker::Entries::iterator, FindingTracker::Entries::iterator> FindingTracker::of_check(
    std::string_view check) {
  const std::string id{check};
  return {entries_.lower_bound(
              Key{.check = id, .subject = {static_cast<SubjectKind>(0), {}, {}, {}, {}}, .reason = {}}),
          entries_.lower_bound(Key{
              .check = id + '\0', .subject = {static_cast<SubjectKind>(0), {}, {}, {}, {}}, .reason = {}})};
}

KeyedFindings FindingTracker::incoming(std::string_view check, const Findings& findings) const {
  const auto rank = [](const Finding& finding) {
    return std::tuple(finding.health == Health::failed, std::string_view(finding.message));
  };
  KeyedFindings result;
  for (Finding finding : findings) {
    if (finding.health == Health::healthy) continue;
    if (is_bad(finding.health)) {
      const auto& reason = facts(finding.reason);
      if (reason.max_health != Health::failed) finding.health = Health::degraded;
      if (finding.action == Action::none) finding.action = reason.action;
      finding.subject = placement_.identified(std::move(finding.subject));
    }
    finding.held = false;
    Key key = key_of(check, finding);
    const auto [place, is_new] = result.emplace(std::move(key), finding);
    if (!is_new && rank(place->second) < rank(finding)) place->second = std::move(finding);
  }
  return result;
}

std::vector<Transition> FindingTracker::complete_round(std::string_view check, Instant now,
                                                       const Findings& findings,
                                                       const Observations& observations) {
  std::vector<Transition> transitions;
  placement_.learn(observations);
  follow_cards(transitions);

  const Round round(now, *this, findings, observations);
  note_resets(check, round, observations, transitions);
  auto reported = incoming(check, findings);
  KeyedFindings passing;
  for (auto entry = reported.begin(); entry != reported.end();) {
    const auto next = std::next(entry);
    if (!is_bad(entry->second.health)) passing.insert(reported.extract(entry));
    entry = next;
  }
  for (const auto& [key, finding] : reported)
    report(key, finding, round, transitions);
  for (auto [entry, end] = of_check(check); entry != end;) {
    const auto current = entry++;
    if (!reported.contains(current->first)) not_reported(current, round, transitions);
  }
  passing_.replace(check, std::move(passing), now.wall, kMaxFindingsPerCheck, transitions);
  return transitions;
}

void FindingTracker::report(const Key& key, const Finding& finding, const Round& round,
                            std::vector<Transition>& transitions) {
  auto entry = entries_.find(key);
  if (entry != entries_.end() && same_card(entry->second.finding.subject, finding.subject) == false) {
    clear(entry, ClearRule::replaced, transitions);
    entry = entries_.end();
  }
  const bool is_new = entry == entries_.end();
  if (is_new) {
    const auto [begin, end] = of_check(key.check);
    if (static_cast<std::size_t>(std::distance(begin, end)) >= kMaxFindingsPerCheck) {
      ++dropped_;
      return;
    }
    entry = entries_.emplace(key, Tracked{finding, boot_id_, {}}).first;
    if (finding.since == WallTime{}) entry->second.finding.since = round.now.wall;
  }
  auto& tracked = entry->second;
  auto& memory = tracked.memory;
  note_return(key, tracked, round);
  if (tracked.boot_id != boot_id_ || tracked.finding.held || is_new || is_news(tracked.finding, finding)) {
    memory.fresh = round.now;
    memory.released = false;
  }
  tracked.boot_id = boot_id_;
  memory.reported = round.now;
  memory.clear_rounds = 0;
  memory.answered = round.answered.contains(key.subject);
  raise_or_change(tracked, key, finding, round.now.wall, transitions);
}

void FindingTracker::raise_or_change(Tracked& tracked, const Key& key, const Finding& finding, WallTime now,
                                     std::vector<Transition>& transitions) {
  auto& memory = tracked.memory;
  auto& shown = tracked.finding;
  const auto& reason = facts(key.reason);
  const bool is_raised = !memory.incident.empty();
  const bool was_held = shown.held;
  const Health old_health = shown.health;
  const Action old_action = shown.action;
  const bool worse = is_worse(finding.health, shown.health);

  if (!is_raised || worse) count_up(memory.reported_rounds);
  const bool enough = memory.reported_rounds >= reason.raise_rounds;
  const bool milder = is_worse(shown.health, finding.health);
  const bool take = worse ? is_raised && enough : !(is_raised && milder && keeps_worst(reason.clear));
  if (take) {
    const WallTime since = shown.since;
    shown = finding;
    shown.since = since;
  }
  shown.held = false;
  shown.last_seen = now;
  shown.clears_when = catalog::how_it_clears(reason);
  shown.subject = finding.subject;
  if (is_raised) {
    if (!worse || take) memory.reported_rounds = 0;
    if (was_held || shown.health != old_health || shown.action != old_action)
      transitions.push_back({TransitionKind::changed, key.check, shown, memory.incident});
    return;
  }
  if (!enough) return;
  memory.reported_rounds = 0;
  memory.incident = new_incident_id();
  transitions.push_back({TransitionKind::raised, key.check, shown, memory.incident});
}

// A GPU that was missing from the list and returns was reset.
void FindingTracker::note_return(const Key& key, Tracked& tracked, const Round& round) {
  if (!tracked.memory.gone || !round.listed.contains(key.subject)) return;
  tracked.memory.gone = false;
  if (facts(key.reason).clear == ClearRule::gpu_reset) tracked.memory.released = true;
}

void FindingTracker::note_resets(std::string_view check, const Round& round, const Observations& observations,
                                 std::vector<Transition>& transitions) {
  auto reset = resets_.note(check, observations);
  // Otherwise other checks would detect the same reset again.
  for (const Subject& gpu : reset)
    for (auto& [other, gpus] : listed_gpus_)
      if (const auto known = gpus.find(gpu); known != gpus.end()) known->second = false;
  for (Subject& gpu : returned_gpus(check, round))
    if (std::ranges::find(reset, gpu) == reset.end()) reset.push_back(std::move(gpu));
  for (Subject& gpu : reset) {
    std::ranges::move(gpu_was_reset(gpu), std::back_inserter(transitions));
    seen_resets_.push_back(std::move(gpu));
  }
}

std::vector<Subject> FindingTracker::returned_gpus(std::string_view check, const Round& round) {
  std::vector<Subject> returned;
  auto& gpus = listed_gpus_.try_emplace(std::string(check)).first->second;
  for (auto& [gpu, is_gone] : gpus)
    if (!round.listed.contains(gpu) && !round.is_unseen(gpu)) is_gone = true;
  for (const Subject& subject : round.listed)
    if (subject.kind == SubjectKind::gpu && std::exchange(gpus[subject], false)) returned.push_back(subject);
  return returned;
}

void FindingTracker::not_reported(Entries::iterator entry, const Round& round,
                                  std::vector<Transition>& transitions) {
  const auto& [key, unused] = *entry;
  auto& tracked = entry->second;
  auto& memory = tracked.memory;
  if (round.is_unseen(key.subject, key.reason)) return;
  if (is_hardware(key.subject) && memory.answered && !round.answered.contains(key.subject)) {
    if (!round.listed.contains(key.subject)) memory.gone = true;
    return;
  }
  if (memory.incident.empty()) {
    entries_.erase(entry);
    return;
  }
  note_return(key, tracked, round);
  memory.reported_rounds = 0;
  count_up(memory.clear_rounds);
  const bool was_held = std::exchange(tracked.finding.held, true);
  if (may_clear(key, tracked, round.now)) {
    clear(entry, facts(key.reason).clear, transitions);
  } else if (!was_held) {
    transitions.push_back({TransitionKind::changed, key.check, tracked.finding, memory.incident});
  }
}

bool FindingTracker::may_clear(const Key& key, const Tracked& tracked, Instant now) const {
  if (key.injected) return true;
  const auto& reason = facts(key.reason);
  const auto& memory = tracked.memory;
  switch (reason.clear) {
    case ClearRule::healthy_rounds:
      return memory.clear_rounds >= reason.clear_rounds &&
             now.mono - memory.reported.mono >= reason.clear_after;
    case ClearRule::expiry:
      return memory.released || now.mono - memory.fresh.mono >= reason.clear_after;
    case ClearRule::gpu_reset:
    case ClearRule::reboot:
    case ClearRule::acknowledged:
      return memory.released;
    case ClearRule::replaced:
      return false;  // follow_cards clears it
  }
  return false;
}

void FindingTracker::clear(Entries::iterator entry, ClearRule rule, std::vector<Transition>& transitions) {
  const auto& tracked = entry->second;
  if (!tracked.memory.incident.empty())
    transitions.push_back({TransitionKind::cleared, entry->first.check, tracked.finding,
                           tracked.memory.incident,
                           entry->first.injected ? std::nullopt : std::optional(rule)});
  entries_.erase(entry);
}

void FindingTracker::follow_cards(std::vector<Transition>& transitions) {
  std::vector<std::pair<Key, Tracked>> moved;
  for (auto next = entries_.begin(); next != entries_.end();) {
    const auto entry = next++;
    auto& subject = entry->second.finding.subject;
    if (entry->second.boot_id == boot_id_) subject = placement_.identified(subject);
    if (auto place = placement_.moved_to(subject)) {
      auto node = entries_.extract(entry);
      node.key().subject = *place;
      node.mapped().finding.subject = std::move(*place);
      moved.emplace_back(std::move(node.key()), std::move(node.mapped()));
    } else if (placement_.is_replaced(subject)) {
      clear(entry, ClearRule::replaced, transitions);
    }
  }
  // After the loop, because two cards may have swapped slots. A finding still in the slot has a card without
  // identity.
  for (auto& [key, tracked] : moved) {
    if (const auto there = entries_.find(key); there != entries_.end())
      clear(there, ClearRule::replaced, transitions);
    const auto entry = entries_.emplace(std::move(key), std::move(tracked)).first;
    if (!entry->second.memory.incident.empty())
      transitions.push_back({TransitionKind::changed, entry->first.check, entry->second.finding,
                             entry->second.memory.incident});
  }
}

std::vector<Transition> FindingTracker::release(
    const std::function<bool(const Key&, const Tracked&)>& concerns) {
  std::vector<Transition> transitions;
  for (auto next = entries_.begin(); next != entries_.end();) {
    const auto entry = next++;
    auto& [finding, boot_id, memory] = entry->second;
    if (memory.incident.empty() || !concerns(entry->first, entry->second)) continue;
    memory.released = true;
    if (finding.held) clear(entry, facts(entry->first.reason).clear, transitions);
  }
  return transitions;
}

// A finding about the node may concern any of its GPUs. If it concerns another GPU, the next run reports it
// again.
std::vector<Transition> FindingTracker::gpu_was_reset(const Subject& gpu) {
  return release([&](const Key& key, const Tracked&) {
    return (gpu.kind == SubjectKind::host || key.subject.kind == SubjectKind::host ||
            device_of(key.subject) == gpu) &&
           facts(key.reason).clear == ClearRule::gpu_reset;
  });
}

std::vector<Transition> FindingTracker::taken_back(const Subject& gpu, std::uint32_t code) {
  return release([&](const Key& key, const Tracked& tracked) {
    const Value* reported = find_attribute(tracked.finding.evidence, "code");
    return !key.injected && device_of(key.subject) == gpu && reported != nullptr &&
           *reported == Value{std::int64_t{code}};
  });
}

std::vector<Transition> FindingTracker::acknowledge(std::string_view incident) {
  return release([&](const Key& key, const Tracked& tracked) {
    return tracked.memory.incident == incident && facts(key.reason).clear == ClearRule::acknowledged;
  });
}

void FindingTracker::move_to_incident(std::string_view from, const std::string& to) {
  for (auto& [key, tracked] : entries_)
    if (tracked.memory.incident == from) tracked.memory.incident = to;
}

Findings FindingTracker::findings(std::string_view check) const {
  Findings result;
  for (const auto& [key, tracked] : entries_)
    if (key.check == check && !tracked.memory.incident.empty()) result.push_back(tracked.finding);
  passing_.append_to(result, check);
  std::ranges::stable_sort(result, {}, [](const Finding& finding) {
    return std::tuple(finding.subject.kind, std::string_view(finding.subject.key),
                      std::string_view(finding.reason));
  });
  return result;
}

std::vector<SavedFinding> FindingTracker::save() const {
  std::vector<SavedFinding> saved;
  for (const auto& [key, tracked] : entries_)
    if (!tracked.memory.incident.empty())
      saved.push_back({key.check, tracked.finding, tracked.boot_id, to_text(tracked.memory)});
  return saved;
}

void FindingTracker::restore(const std::vector<SavedFinding>& saved, Instant now) {
  for (const auto& [check, finding, boot_id, state] : saved) {
    if (!is_bad(finding.health) || has(check, finding)) continue;
    Key key = key_of(check, finding);
    Tracked tracked{finding, boot_id, {}};
    auto& memory = tracked.memory;
    if (auto parsed = parse_memory(state)) {
      memory = std::move(*parsed);
    } else {
      memory.incident = new_incident_id();
      memory.reported = memory.fresh = now;
    }
    const bool is_new_boot = boot_id != boot_id_;
    for (Instant* time : {&memory.reported, &memory.fresh})
      if (is_new_boot || time->mono > now.mono) time->mono = now.mono - age_by_wall_clock(*time, now);
    if (is_new_boot) {
      const auto rule = facts(finding.reason).clear;
      memory.answered = memory.gone = false;
      memory.released = memory.released || rule == ClearRule::gpu_reset || rule == ClearRule::reboot;
    }
    entries_.insert_or_assign(std::move(key), std::move(tracked));
  }
}

bool FindingTracker::has(std::string_view check, const Finding& finding) const {
  const auto found = entries_.find(key_of(check, finding));
  return found != entries_.end() && !found->second.memory.incident.empty();
}

std::vector<Transition> FindingTracker::raised() const {
  std::vector<Transition> result;
  for (const auto& [key, tracked] : entries_)
    if (!tracked.memory.incident.empty())
      result.push_back({TransitionKind::raised, key.check, tracked.finding, tracked.memory.incident});
  return result;
}

}  // namespace autopilot::incidents
