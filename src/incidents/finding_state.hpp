// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/catalog.hpp"
#include "core/clock.hpp"
#include "core/finding.hpp"
#include "incidents/evidence.hpp"

namespace autopilot::incidents {

enum class TransitionKind : std::uint8_t { raised, changed, cleared };

// changed: new health or action, the condition disappeared or returned (finding.held), or the card moved to
// another slot.
struct Transition {
  TransitionKind kind = TransitionKind::raised;
  std::string check;
  Finding finding;
  std::string incident;                      // empty for findings of health unknown
  std::optional<catalog::ClearRule> rule{};  // cleared: the rule that fired; nullopt: no rule was needed
};

// State of the state machine for one finding.
struct Memory {
  std::string incident;     // empty: not raised yet
  int reported_rounds = 0;  // runs in a row, until raised or worse
  int clear_rounds = 0;     // runs in a row that checked the subject and did not report the finding
  Instant reported;         // last report
  Instant fresh;            // last report with new evidence
  bool answered = false;    // the device answered while the finding was reported
  bool gone = false;        // the device was missing from the list in the last run that checked
  bool released = false;    // reset, rebooted, acknowledged or retracted since the last new evidence
};

// One line of text. parse returns nullopt unless every word is present and valid.
[[nodiscard]] std::string to_text(const Memory& memory);
[[nodiscard]] std::optional<Memory> parse_memory(std::string_view text);

// Identity of a finding.
struct FindingKey {
  std::string check;
  Subject subject;
  std::string reason;
  std::optional<std::int64_t> code{};  // error_code of the finding
  bool injected = false;
  friend std::strong_ordering operator<=>(const FindingKey&, const FindingKey&) = default;
};
[[nodiscard]] inline FindingKey key_of(std::string_view check, const Finding& finding) {
  return {std::string(check), finding.subject, finding.reason, error_code(finding), finding.injected};
}
using KeyedFindings = std::map<FindingKey, Finding>;

// Findings of health unknown or unsupported. They last exactly as long as they are reported, without
// hysteresis, memory or incident. Pure; one owner.
class PassingFindings {
 public:
  // Replaces the findings of the check. Appends transitions for `unknown` only. Drops findings beyond
  // `limit`.
  void replace(std::string_view check, KeyedFindings reported, WallTime now, std::size_t limit,
               std::vector<Transition>& transitions);
  void append_to(Findings& findings, std::string_view check) const;
  // Findings dropped because a check exceeded its limit.
  [[nodiscard]] std::size_t dropped() const { return dropped_; }

 private:
  KeyedFindings findings_;
  std::size_t dropped_ = 0;
};

}  // namespace autopilot::incidents
