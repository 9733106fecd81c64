// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compat/ibm_autopilot/check_answer.hpp"
#include "compat/ibm_autopilot/service/fresh_looks.hpp"
#include "compat/ibm_autopilot/service/test_rights.hpp"
#include "core/snapshot.hpp"
#include "diagnostics/operations/test_runs.hpp"

namespace autopilot::compat::ibm_autopilot {

struct LocalContext {
  LookContext look;
  diagnostics::TestRuns& tests;
};

// The active ones of these names of IBM Autopilot, by our ids; of two checks the one that is tested here.
[[nodiscard]] std::vector<std::string> active_checks(const diagnostics::TestRuns& tests,
                                                     const std::vector<std::string>& names);

// What this node says of the checks of these names: the passive ones look, of the active ones those are
// tested that `rights` allow, and the last results of the others are told. Calls back, not from within.
using OnAnswers = std::function<void(const std::vector<compat::ibm_autopilot::CheckAnswer>& answers,
                                     const NodeSnapshot& snapshot)>;
void answer_locally(const LocalContext& context, const std::vector<std::string>& names,
                    const TestRights& rights, OnAnswers on_answers);

}  // namespace autopilot::compat::ibm_autopilot
