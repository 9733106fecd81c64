// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/output/node_page.hpp"
#include "cli/output/table.hpp"
#include "core/snapshot.hpp"

// The GPUs on the page of a machine. Pure.
namespace autopilot::cli {

// The GPUs of the observations, by address.
[[nodiscard]] std::vector<PageGpu> gpus_of(const NodeSnapshot& snapshot);

// Lines of a table, at most as wide as the style: a narrow one leaves out serial and model, and a column
// without any value is left out as well.
[[nodiscard]] std::vector<std::string> gpu_table(const std::vector<PageGpu>& gpus, const TableStyle& style);

// "7 more GPUs are healthy, at 38 to 44 C."; empty if none is healthy. has_others: without "more" if false.
[[nodiscard]] std::string healthy_gpus_text(const std::vector<PageGpu>& gpus, bool has_others);

}  // namespace autopilot::cli
