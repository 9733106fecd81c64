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

EvictingIncident looked_at(EvictingIncident one, const WrittenVerdictInput& input) {
  const Incident* incident = find(input.incidents, one.id);
  if (incident != nullptr) {
    one.closed.reset();
    one.is_acknowledged = incident->acknowledged.has_value();
  } else if (!one.closed) {
    one.closed = input.now;
  }
  return one;
}

// Beyond what the verdict says of it.
bool holds(const EvictingIncident& one, const WrittenVerdictInput& input) {
  if (one.is_acknowledged) return false;
  return !one.closed || !input.deep_test_passed || *input.deep_test_passed <= *one.closed;
}

// A deep test alone says that a device is bad: the next one that passes says that it is not, and no further
// one is needed.
bool is_of_deep_test(const Incident& incident) {
  return std::ranges::all_of(incident.members, [](const IncidentMember& member) {
    return member.check == kDeepTest || member.cleared || member.finding.health != Health::failed;
  });
}

// A later layout gets another first word; this one is then not understood.
constexpr std::string_view kLayout = "w1";
constexpr std::string_view kNone = "-";

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
  WrittenVerdict after{input.verdict, {}};
  for (const EvictingIncident& one : before.evicting)
    if (EvictingIncident now = looked_at(one, input); holds(now, input))
      after.evicting.push_back(std::move(now));
  for (const Incident& incident : input.incidents) {
    if (!makes_evict(incident, input.reasons) || is_of_deep_test(incident)) continue;
    const bool is_known =
        std::ranges::find(after.evicting, incident.id, &EvictingIncident::id) != after.evicting.end();
    if (!is_known) after.evicting.push_back(looked_at({incident.id, {}, false}, input));
  }
  if (!after.evicting.empty() && input.verdict != Verdict::testing) after.word = Verdict::evict;
  return after;
}

bool acknowledge_by(WrittenVerdict& written, std::string_view label) {
  if (label == to_string(Verdict::evict) || label == to_string(Verdict::testing)) return false;
  return std::erase_if(written.evicting, [](const EvictingIncident& one) { return one.closed.has_value(); }) >
         0;
}

std::string to_text(const WrittenVerdict& written) {
  std::string text(kLayout);
  const std::string_view word = to_string(written.word);
  text.append(" ").append(word.empty() ? kNone : word);
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
  const auto words = split(text, ' ');
  if (words.size() < 2 || words.size() > 2 + kMaxEvictingKept || words[0] != kLayout || words[1].empty())
    return std::nullopt;
  const auto word = words[1] == kNone ? std::optional(Verdict::none) : parse_verdict(words[1]);
  if (!word) return std::nullopt;
  WrittenVerdict written{*word, {}};
  for (const std::string_view one : std::span(words).subspan(2)) {
    auto evicting = parse_evicting(one);
    if (!evicting) return std::nullopt;
    written.evicting.push_back(std::move(*evicting));
  }
  return written;
}

}  // namespace autopilot::incidents
