// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cli/output/table.hpp"
#include "core/observation.hpp"

namespace autopilot::cli {

// Table of the observations of network.nccl_group: for each all-reduce its rate in Gbit/s, `?` if not
// measured, `!` if GPUs computed a wrong sum; and the nodes that took no part. Empty without such
// observations.
[[nodiscard]] std::string render_groups(const Observations& observations, const TableStyle& style);

}  // namespace autopilot::cli
