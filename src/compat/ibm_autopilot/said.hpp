// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "compat/ibm_autopilot/check_answer.hpp"

namespace autopilot::compat::ibm_autopilot {

// The text of a check, in two parts; the line about its age comes between them.
struct Said {
  Outcome outcome = Outcome::aborted;
  std::string head;
  std::string rest;
};

// The sentence of the first finding of that health; empty without one.
[[nodiscard]] std::string message_of(const CheckResult& result, Health health);
// Text from another source, on one line and without words that decide a status.
[[nodiscard]] std::string on_one_line(std::string text);
// With two decimals.
[[nodiscard]] std::string two_digits(double number);
// The line that states why a check has no result, with ABORT at its end. Without words that match the name of
// another check.
[[nodiscard]] std::string abort_line(const NodeSnapshot& snapshot, const CheckResult& result);

}  // namespace autopilot::compat::ibm_autopilot
