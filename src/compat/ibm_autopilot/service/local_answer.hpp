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

// How old the last look of a check may be for an answer to be of now, and how long a new one is waited for.
inline constexpr Duration kFreshLook = std::chrono::seconds{2};
inline constexpr Duration kLookPatience = std::chrono::seconds{20};

struct LookContext {
  runtime::Runtime& runtime;
  const Clock& clock;
  net::EventLoop& loop;
  std::function<void()> poll_soon;
};

// Calls `done`, never from within, when the snapshot knows a look of each of these checks (our ids) that is
// not older than that, or when one takes too long. Who asks meanwhile waits for the same look; a check that
// does not run here is not waited for.
void look_freshly(const LookContext& context, const std::vector<std::string>& checks,
                  std::function<void()> done);

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
