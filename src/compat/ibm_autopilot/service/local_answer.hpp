// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compat/ibm_autopilot/check_answer.hpp"
#include "compat/ibm_autopilot/service/test_rights.hpp"
#include "core/clock.hpp"
#include "core/snapshot.hpp"
#include "diagnostics/operations/test_runs.hpp"
#include "net/event_loop.hpp"
#include "runtime/runtime.hpp"

namespace autopilot::compat::ibm_autopilot {

// Age up to which the last run of a check counts as current, and deadline for a new run.
inline constexpr Duration kFreshLook = std::chrono::seconds{2};
inline constexpr Duration kLookPatience = std::chrono::seconds{20};

struct LookContext {
  runtime::Runtime& runtime;
  const Clock& clock;
  net::EventLoop& loop;
  std::function<void()> poll_soon;
};

// Calls `done`, never from within, when the snapshot has a run of each of these checks (our ids) that is not
// older than kFreshLook, or after kLookPatience. Callers that ask meanwhile wait for the same run; a check
// that does not run here is not waited for.
void look_freshly(const LookContext& context, const std::vector<std::string>& checks,
                  std::function<void()> done);

struct LocalContext {
  LookContext look;
  diagnostics::TestRuns& tests;
};

// The active ones of these names of IBM Autopilot, by our ids; of two checks the check that is tested here.
[[nodiscard]] std::vector<std::string> active_checks(const diagnostics::TestRuns& tests,
                                                     const std::vector<std::string>& names);

// This node's answers for the checks of these names: passive checks run, active checks that `rights` allows
// are tested, and the other active checks answer with their last results. Calls back, not from within.
using OnAnswers = std::function<void(const std::vector<compat::ibm_autopilot::CheckAnswer>& answers,
                                     const NodeSnapshot& snapshot)>;
void answer_locally(const LocalContext& context, const std::vector<std::string>& names,
                    const TestRights& rights, OnAnswers on_answers);

}  // namespace autopilot::compat::ibm_autopilot
