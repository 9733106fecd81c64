// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "compat/ibm_autopilot/check_answer.hpp"

namespace autopilot::compat::ibm_autopilot {

// What a check says, in two parts: of when it is stands between them.
struct Said {
  Outcome outcome = Outcome::aborted;
  std::string head;
  std::string rest;
};

// The sentence of the first finding of that health; empty without one.
[[nodiscard]] std::string message_of(const CheckResult& result, Health health);
// What somebody else wrote, on the line where it stands: no other line, and no word that decides of a status.
[[nodiscard]] std::string on_one_line(std::string text);
// With two digits after the point.
[[nodiscard]] std::string two_digits(double number);
// The line that tells why a check has nothing to say, with ABORT at its end. Without words that the name of
// another check would be found in.
[[nodiscard]] std::string abort_line(const NodeSnapshot& snapshot, const CheckResult& result);

}  // namespace autopilot::compat::ibm_autopilot
