// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/clock.hpp"

namespace autopilot::incidents {

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

}  // namespace autopilot::incidents
