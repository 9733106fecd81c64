// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "checks/check.hpp"
#include "cli/machine.hpp"
#include "core/result.hpp"
#include "core/snapshot.hpp"

namespace autopilot::cli {

struct LookRequest {
  MachineChoice machine;
  std::string config_file;
  Duration window{0};           // between the two runs of checks that need two; 0: one run
  bool watches_growth = false;  // also run checks twice that judge growth among other things
};

// Runs the checks once, without an agent. On this machine the last samples in the agent's journal serve as an
// earlier run.
[[nodiscard]] Result<NodeSnapshot> look(const LookRequest& request, const std::vector<checks::Check>& checks,
                                        const catalog::Catalog& facts);

}  // namespace autopilot::cli
