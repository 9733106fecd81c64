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

#include "core/clock.hpp"
#include "core/finding.hpp"
#include "incidents/error_code.hpp"
#include "incidents/transition.hpp"

namespace autopilot::incidents {

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
