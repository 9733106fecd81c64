// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/clock.hpp"

namespace autopilot::incidents {

// What the state machine remembers of one raised finding beside the finding itself.
struct Memory {
  std::string incident;     // empty: not raised yet
  int reported_rounds = 0;  // in a row, until raised or worse
  int clear_rounds = 0;     // looked at and not reported, in a row
  Instant reported;         // last time
  Instant fresh;            // last time with new evidence
  bool answered = false;    // the device answered while the finding was reported
  bool gone = false;        // the device was not even listed in the last round that looked
  bool released = false;    // reset, rebooted, acknowledged or taken back since the last new evidence
};

// One line of text; parse gives nothing unless every word is there and well-formed.
[[nodiscard]] std::string to_text(const Memory& memory);
[[nodiscard]] std::optional<Memory> parse_memory(std::string_view text);

}  // namespace autopilot::incidents
