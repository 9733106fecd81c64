// SPDX-License-Identifier: Apache-2.0
#include "cli/output/exit_code.hpp"

#include <algorithm>

#include "cli/cli.hpp"

namespace autopilot::cli {

int exit_code_of(Health health) {
  switch (health) {
    case Health::failed:
      return kExitFailed;
    case Health::unknown:
      return kExitUnknown;
    case Health::degraded:
      return kExitDegraded;
    case Health::healthy:
    case Health::unsupported:
      break;
  }
  return kExitHealthy;
}

int exit_code_of(const NodeSnapshot& snapshot, bool strict) {
  if (snapshot.health == Health::failed) return kExitFailed;
  const bool any_unknown =
      std::any_of(snapshot.results.begin(), snapshot.results.end(),
                  [](const CheckResult& result) { return result.health == Health::unknown; });
  return strict && any_unknown ? kExitUnknown : exit_code_of(snapshot.health);
}

}  // namespace autopilot::cli
