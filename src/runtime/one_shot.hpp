// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/runtime.hpp"

namespace autopilot::runtime {

struct OneShot {
  RuntimeOptions options;
  RuntimeSettings settings;
  std::vector<store::LastSample> last_samples;  // of this boot, from the agent's journal
  Duration window = std::chrono::seconds{2};    // between the two runs of checks that need two; 0: one run
  bool watches_growth = false;  // checks that judge growth among other things run twice as well
};

// Runs each check once (twice, `window` apart, if a check needs it), without journal or hysteresis. Blocks
// until every check has ended or was abandoned at its deadline.
[[nodiscard]] SnapshotPtr look_once(std::shared_ptr<const host::Host> host, const catalog::Catalog& facts,
                                    std::span<const checks::Check> checks, OneShot request);

}  // namespace autopilot::runtime
