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
  Duration window{0};           // between the two looks of checks that need them; 0: one look
  bool watches_growth = false;  // checks that judge growth among other things look twice as well
};

// Looks at the machine without an agent. On this machine the last samples of its agent's journal count as an
// earlier look.
[[nodiscard]] Result<NodeSnapshot> look(const LookRequest& request, const std::vector<checks::Check>& checks,
                                        const catalog::Catalog& facts);

}  // namespace autopilot::cli
