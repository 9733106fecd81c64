// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "why/evidence.hpp"

namespace autopilot::why {

// Joins equal evidence: one record that several sources state, records that repeat, and processes of one name
// that end alike, except processes that the person asks about. The newest remains, with the time of the first
// and the number of all; a record of a log before what a check made of it. Pure.
[[nodiscard]] std::vector<Evidence> joined_evidence(std::vector<Evidence> all, const Target& target);

// False if an hour or more lies between them: then a later record is another episode.
[[nodiscard]] bool is_one_episode(const Evidence& a, const Evidence& b);

}  // namespace autopilot::why
