// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/catalog.hpp"
#include "core/incident.hpp"
#include "why/evidence.hpp"

namespace autopilot::why {

// How well the evidence carries a cause.
enum class Certainty : std::uint8_t {
  certain,   // a record states it of this program
  likely,    // its device, or an error that explains a record about it
  possible,  // it happened at the time, or names a pid that may be that of another process
};

[[nodiscard]] std::string_view to_string(Certainty certainty);

struct FoundCause {
  Evidence main;
  Certainty certainty = Certainty::possible;
  std::string grounds;                 // one sentence: why this is the cause
  FaultEnd end = FaultEnd::unclear;    // what is at fault
  std::vector<Evidence> consequences;  // oldest first
  // Of a cause in an earlier boot: whether what is read from the machine now shows the same, or another fault
  // of the device.
  std::optional<bool> still_holds;
};

struct Explanation {
  std::vector<FoundCause> causes;  // best first
  std::vector<Evidence> order;     // of all causes and consequences with a time, oldest first
  std::vector<Evidence> seen;      // not tied to the program; worst first, then newest
};

// Time before a record about the program in which an error of the machine is a possible cause.
inline constexpr Duration kNear = std::chrono::minutes{2};

// Joins equal evidence, finds which evidence explains which by the cause rules, and ranks the rest. For the
// whole machine every event and every failed subject is a cause. Evidence that is only old, or concerns
// others, is never a cause of a program. Pure.
[[nodiscard]] Explanation explain(std::vector<Evidence> evidence, const Target& asked,
                                  const catalog::Catalog& facts);

}  // namespace autopilot::why
