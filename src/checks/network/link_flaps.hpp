// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "core/history.hpp"

namespace autopilot::checks {

struct LinkFlaps {
  double count = 0;
  const Observation* last = nullptr;  // the line of the last time that the link came back
};

// How often a port lost its link for longer than `least_seconds` and found it again, by its lines "Link down"
// and "Link up" (events of `rule`) that may act. A link that is still down is no flap, nor is a line that is
// said twice.
[[nodiscard]] LinkFlaps count_flaps(const History& history, const Subject& port, std::string_view rule,
                                    double least_seconds);

}  // namespace autopilot::checks
