// SPDX-License-Identifier: Apache-2.0

#include "incidents/finding_state.hpp"

#include <iterator>

#include "core/parse.hpp"

namespace autopilot::incidents {
namespace {

// A later layout has another first word. A program that does not know it restarts the finding.
constexpr std::string_view kMemoryLayout = "m1";

std::string ticks_of(Duration duration) {
  return std::to_string(duration.count());
}

std::string words_of(const Instant& instant) {
  return ticks_of(instant.wall.time_since_epoch()) + ' ' + ticks_of(instant.mono.time_since_epoch());
}

std::optional<Instant> parse_instant(std::string_view wall, std::string_view mono) {
  const auto wall_count = parse_number<std::int64_t>(wall);
  const auto mono_count = parse_number<std::int64_t>(mono);
  if (!wall_count || !mono_count) return std::nullopt;
  return Instant{WallTime{Duration{*wall_count}}, MonoTime{Duration{*mono_count}}};
}

std::optional<int> parse_count(std::string_view word) {
  const auto count = parse_number<int>(word);
  if (!count || *count < 0) return std::nullopt;
  return count;
}

std::optional<bool> parse_flag(std::string_view word) {
  if (word == "1") return true;
  if (word == "0") return false;
  return std::nullopt;
}

void append(TransitionKind kind, std::string_view check, const Finding& finding,
            std::vector<Transition>& transitions) {
  if (finding.health == Health::unknown) transitions.push_back({kind, std::string(check), finding, {}});
}

}  // namespace

std::string to_text(const Memory& memory) {
  std::string text{kMemoryLayout};
  const auto add = [&text](const std::string& word) {
    text += ' ';
    text += word;
  };
  add(memory.incident);
  add(std::to_string(memory.reported_rounds));
  add(std::to_string(memory.clear_rounds));
  add(words_of(memory.reported));
  add(words_of(memory.fresh));
  for (const bool flag : {memory.answered, memory.gone, memory.released})
    add(flag ? "1" : "0");
  return text;
}

std::optional<Memory> parse_memory(std::string_view text) {
  const auto words = split(text, ' ');
  constexpr std::size_t kWords = 11;
  if (words.size() != kWords || words[0] != kMemoryLayout || words[1].empty()) return std::nullopt;
  const auto reported_rounds = parse_count(words[2]);
  const auto clear_rounds = parse_count(words[3]);
  const auto reported = parse_instant(words[4], words[5]);
  const auto fresh = parse_instant(words[6], words[7]);
  const auto answered = parse_flag(words[8]);
  const auto gone = parse_flag(words[9]);
  const auto released = parse_flag(words[10]);
  if (!reported_rounds || !clear_rounds || !reported || !fresh || !answered || !gone || !released)
    return std::nullopt;
  return Memory{
      std::string(words[1]), *reported_rounds, *clear_rounds, *reported, *fresh, *answered, *gone, *released};
}

void PassingFindings::replace(std::string_view check, KeyedFindings reported, WallTime now, std::size_t limit,
                              std::vector<Transition>& transitions) {
  while (reported.size() > limit) {
    reported.erase(std::prev(reported.end()));
    ++dropped_;
  }
  for (auto& [key, finding] : reported) {
    const auto before = findings_.find(key);
    const bool is_same = before != findings_.end() && before->second.health == finding.health;
    finding.since = is_same ? before->second.since : now;
    if (!is_same) append(TransitionKind::raised, check, finding, transitions);
  }
  for (auto entry = findings_.begin(); entry != findings_.end();) {
    const auto current = entry++;
    if (current->first.check != check) continue;
    const auto after = reported.find(current->first);
    if (after == reported.end() || after->second.health != current->second.health)
      append(TransitionKind::cleared, check, current->second, transitions);
    findings_.erase(current);
  }
  findings_.merge(reported);
}

void PassingFindings::append_to(Findings& findings, std::string_view check) const {
  for (const auto& [key, finding] : findings_)
    if (key.check == check) findings.push_back(finding);
}

}  // namespace autopilot::incidents
