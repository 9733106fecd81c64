// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/kubectl/node_tables.hpp"
#include "cli/output/node_page.hpp"

namespace autopilot::cli {

// The page of a node from what the cluster stores about it. Pure.
[[nodiscard]] NodePage page_of(const NodeDetails& details);

}  // namespace autopilot::cli
