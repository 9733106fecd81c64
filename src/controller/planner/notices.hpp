// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "controller/planner/draft.hpp"

namespace autopilot::controller {

// Reports that lead to no plan: of tests that could not be made or were not waited for, which people are told
// of, and of failed ones that prove nothing any more.
void tell_of_reports(Deliberation& all);

}  // namespace autopilot::controller
