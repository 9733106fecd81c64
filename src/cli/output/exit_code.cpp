// SPDX-License-Identifier: Apache-2.0
#include "cli/output/exit_code.hpp"

#include <algorithm>

#include "cli/cli.hpp"

namespace autopilot::cli {

int exit_code_of(const NodeSnapshot& snapshot, bool strict) {
  if (snapshot.health == Health::failed) return kExitFailed;
  const bool any_unknown =
      std::any_of(snapshot.results.begin(), snapshot.results.end(),
                  [](const CheckResult& result) { return result.health == Health::unknown; });
  if (snapshot.health == Health::unknown || (strict && any_unknown)) return kExitUnknown;
  return snapshot.health == Health::degraded ? kExitDegraded : kExitHealthy;
}

}  // namespace autopilot::cli
