// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/clock.hpp"
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

}  // namespace autopilot::compat::ibm_autopilot
