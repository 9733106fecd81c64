// SPDX-License-Identifier: Apache-2.0
#include "incidents/written_verdict.hpp"

#include <algorithm>
#include <cstdint>

#include "core/parse.hpp"

namespace autopilot::incidents {
namespace {

const Incident* find(std::span<const Incident> incidents, const std::string& id) {
  const auto found = std::ranges::find(incidents, id, &Incident::id);
  return found == incidents.end() ? nullptr : &*found;
}

EvictingIncident updated(EvictingIncident one, const WrittenVerdictInput& input) {
  const Incident* incident = find(input.incidents, one.id);
  if (incident != nullptr) {
    one.closed.reset();
    one.is_acknowledged = incident->acknowledged.has_value();
  } else {
    one.closed = std::min(one.closed.value_or(input.now), input.now);
  }
  return one;
}

// True if the incident requires EVICT independently of the verdict.
bool holds(const EvictingIncident& one, const WrittenVerdictInput& input) {
  if (one.is_acknowledged) return false;
  const auto& passed = input.deep_test_passed;
  return !one.closed || !passed || *passed <= *one.closed || *passed > input.now;
}

// True if only a deep diagnostic reports failures. The next passing diagnostic is then proof enough.
bool is_of_deep_test(const Incident& incident) {
  return std::ranges::all_of(incident.members, [](const IncidentMember& member) {
    return member.check == kDeepTest || member.cleared || member.finding.health != Health::failed;
  });
}

// A later layout has another first word, and is then not parsed.
constexpr std::string_view kVerdictLayout = "w1";
constexpr std::string_view kNone = "-";
constexpr char kNodeMark = '@';

// "<id>,<nanoseconds of its closing, or ->,<1 when acknowledged>"
std::optional<EvictingIncident> parse_evicting(std::string_view word) {
  const auto parts = split(word, ',');
  if (parts.size() != 3 || parts[0].empty() || (parts[2] != "0" && parts[2] != "1")) return std::nullopt;
  EvictingIncident one{std::string(parts[0]), std::nullopt, parts[2] == "1"};
  if (parts[1] == kNone) return one;
  const auto closed = parse_number<std::int64_t>(parts[1]);
  if (!closed) return std::nullopt;
  one.closed = WallTime{Duration{*closed}};
  return one;
}

}  // namespace

WrittenVerdict next_written(const WrittenVerdict& before, const WrittenVerdictInput& input) {
  WrittenVerdict after{input.verdict, {}, before.node_uid};
  for (const EvictingIncident& one : before.evicting)
    if (EvictingIncident now = updated(one, input); holds(now, input))
      after.evicting.push_back(std::move(now));
  for (const Incident& incident : input.incidents) {
    if (!makes_evict(incident, input.reasons) || is_of_deep_test(incident)) continue;
    const bool is_known =
        std::ranges::find(after.evicting, incident.id, &EvictingIncident::id) != after.evicting.end();
    if (!is_known) after.evicting.push_back(updated({incident.id, {}, false}, input));
  }
  if (!after.evicting.empty() && input.verdict != Verdict::testing) after.word = Verdict::evict;
  return after;
}

bool see_label(WrittenVerdict& written, std::string_view label, std::string_view node_uid) {
  const bool is_another_object = !written.node_uid.empty() && written.node_uid != node_uid;
  if (label.empty() && is_another_object) return false;
  bool has_changed = false;
  if (!label.empty() && written.node_uid != node_uid) {
    written.node_uid = node_uid;
    has_changed = true;
  }
  if (label == to_string(Verdict::evict) || label == to_string(Verdict::testing)) return has_changed;
  const auto acknowledged =
      std::erase_if(written.evicting, [](const EvictingIncident& one) { return one.closed.has_value(); });
  return has_changed || acknowledged > 0;
}

std::string why_it_stays(std::span<const EvictingIncident> evicting, std::string_view node,
                         std::string_view label) {
  if (evicting.empty()) return {};
  const auto open = std::ranges::find_if(evicting, [](const EvictingIncident& one) { return !one.closed; });
  if (open != evicting.end())
    return "incident " + open->id +
           " is open; EVICT remains until it has closed and a deep diagnostic has passed, " +
           "or until you acknowledge it: autopilot ack " + open->id;
  const bool is_guess = std::ranges::find(evicting, kPredecessor, &EvictingIncident::id) != evicting.end();
  const std::string why = is_guess ? "the node had EVICT before this agent started, for an unknown reason"
                                   : "EVICT remains after incident " + evicting.front().id;
  return why + "; to end it, pass a deep diagnostic, or remove the label: kubectl label node " +
         std::string(node) + " " + std::string(label) + "-";
}

std::string to_text(const WrittenVerdict& written) {
  std::string text(kVerdictLayout);
  const std::string_view word = to_string(written.word);
  text.append(" ").append(word.empty() ? kNone : word);
  if (!written.node_uid.empty()) text.append(" ").append(1, kNodeMark).append(written.node_uid);
  for (const EvictingIncident& one :
       std::span(written.evicting).first(std::min(written.evicting.size(), kMaxEvictingKept))) {
    const std::string closed =
        one.closed ? std::to_string(one.closed->time_since_epoch().count()) : std::string(kNone);
    text.append(" ").append(one.id).append(",").append(closed);
    text.append(one.is_acknowledged ? ",1" : ",0");
  }
  return text;
}

std::optional<WrittenVerdict> parse_written_verdict(std::string_view text) {
  auto words = split(text, ' ');
  std::string node_uid;
  if (words.size() > 2 && words[2].size() > 1 && words[2].front() == kNodeMark) {
    node_uid = words[2].substr(1);
    words.erase(words.begin() + 2);
  }
  if (words.size() < 2 || words.size() > 2 + kMaxEvictingKept || words[0] != kVerdictLayout ||
      words[1].empty())
    return std::nullopt;
  const auto word = words[1] == kNone ? std::optional(Verdict::none) : parse_verdict(words[1]);
  if (!word) return std::nullopt;
  WrittenVerdict written{*word, {}, std::move(node_uid)};
  for (const std::string_view one : std::span(words).subspan(2)) {
    auto evicting = parse_evicting(one);
    if (!evicting) return std::nullopt;
    written.evicting.push_back(std::move(*evicting));
  }
  return written;
}

}  // namespace autopilot::incidents
