// SPDX-License-Identifier: Apache-2.0
#include "catalog/entry.hpp"

#include <algorithm>
#include <limits>
#include <re2/re2.h>

namespace autopilot::catalog {
namespace {

const std::vector<std::string> kHealthWords{"healthy", "degraded", "failed", "unknown", "unsupported"};
const std::vector<std::string> kAllowedEvidence{"vendor", "peer", "own", "measured"};
const std::vector<std::string> kAllowedClearRules{"healthy_rounds", "gpu_reset",    "reboot",
                                                  "expiry",         "acknowledged", "replaced"};

}  // namespace

const std::vector<std::string>& action_words() {
  static const std::vector<std::string> words = [] {
    std::vector<std::string> list;
    for (int i = 0; i <= static_cast<int>(Action::contact_vendor); ++i)
      list.emplace_back(to_string(static_cast<Action>(i)));
    return list;
  }();
  return words;
}

Provenance Entry::provenance() {
  Provenance provenance{required_word("source"), required_word("date"), EvidenceKind::own};
  if (!provenance.date.empty() && !RE2::FullMatch(provenance.date, "20\\d\\d-[01]\\d-[0-3]\\d"))
    problem(line_of("date"), "`date`: expected a day such as 2026-11-21, found `" + provenance.date + "`");
  provenance.evidence = required<EvidenceKind>("evidence", &parse_evidence_kind, kAllowedEvidence);
  return provenance;
}

std::string Entry::id(const char* pattern) {
  std::string id = required_word("id");
  if (!id.empty() && !RE2::FullMatch(id, pattern))
    problem(line_of("id"), "`id`: `" + id + "` does not match " + pattern);
  return id;
}

Health Entry::health(std::string_view key) {
  return required<Health>(key, &parse_health, kHealthWords);
}

Action Entry::action(std::string_view key) {
  return required<Action>(key, &parse_action, action_words());
}

ClearRule Entry::clear_rule() {
  return required<ClearRule>("clear", &parse_clear_rule, kAllowedClearRules);
}

double Entry::confidence() {
  const double value = required_number("confidence");
  if (value < 0 || value > 1) problem(line_of("confidence"), "`confidence`: expected 0 to 1");
  return value;
}

int Entry::rounds(std::string_view key, int fallback) {
  const std::int64_t value = integer(key).value_or(fallback);
  if (value < 1 || value > 100)
    problem(line_of(key), "`" + std::string(key) + "`: expected 1 to 100, found " + std::to_string(value));
  return static_cast<int>(std::clamp<std::int64_t>(value, 1, 100));
}

std::int64_t Entry::integer_within(std::string_view key, std::int64_t least, std::int64_t most) {
  const std::int64_t value = required_integer(key);
  if (value < least || value > most)
    problem(line_of(key), "`" + std::string(key) + "`: expected " + std::to_string(least) + " to " +
                              std::to_string(most) + ", found " + std::to_string(value));
  return std::clamp(value, least, most);
}

int Entry::within(std::string_view key, int least, int most) {
  return static_cast<int>(integer_within(key, least, most));
}

std::uint32_t Entry::code(std::string_view key, std::uint32_t least) {
  return static_cast<std::uint32_t>(integer_within(key, least, std::numeric_limits<std::uint32_t>::max()));
}

void Entry::known_word(std::string_view key, const std::string& word, const std::vector<std::string>& known) {
  if (word.empty() || std::find(known.begin(), known.end(), word) != known.end()) return;
  problem(line_of(key), "`" + std::string(key) + "`: unknown value `" + word + "`");
}

}  // namespace autopilot::catalog
