// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "catalog/catalog.hpp"
#include "checks/check.hpp"
#include "cli/open_machine.hpp"
#include "config/config.hpp"
#include "core/result.hpp"
#include "core/snapshot.hpp"

namespace autopilot::cli {

struct RunRequest {
  MachineChoice machine;
  Duration window{0};           // between the two runs of checks that need two; 0: one run
  bool watches_growth = false;  // also run checks twice that judge growth among other things
};

// Runs the checks once, without an agent. On this machine the last samples in the agent's journal serve as an
// earlier run. Blocks for the window, and for the deadline of the slowest check at worst.
[[nodiscard]] Result<NodeSnapshot> run_checks(const RunRequest& request, const config::Config& settings,
                                              const std::vector<checks::Check>& checks,
                                              const catalog::Catalog& facts);

}  // namespace autopilot::cli
