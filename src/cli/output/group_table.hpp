// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cli/output/table.hpp"
#include "core/observation.hpp"

namespace autopilot::cli {

// What the check network.nccl_group observed, for a person: a line for each all-reduce with what it had in
// Gbit/s, `?` where it was not measured and `!` where GPUs summed up wrongly; and who took no part. Empty
// where there is nothing of it.
[[nodiscard]] std::string render_groups(const Observations& observations, const TableStyle& style);

}  // namespace autopilot::cli
