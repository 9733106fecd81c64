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

// What makes two findings the same one.
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

// Findings of health unknown or unsupported: they last exactly as long as they are said, without hysteresis,
// memory or incident. Pure; one owner.
class PassingFindings {
 public:
  // Takes the place of what the check said before. Only `unknown` is told; of too many the last are left out.
  void replace(std::string_view check, KeyedFindings said, WallTime now, std::size_t limit,
               std::vector<Transition>& transitions);
  void append_to(Findings& findings, std::string_view check) const;
  // Findings not taken because a check had too many.
  [[nodiscard]] std::size_t dropped() const { return dropped_; }

 private:
  KeyedFindings findings_;
  std::size_t dropped_ = 0;
};

}  // namespace autopilot::incidents
