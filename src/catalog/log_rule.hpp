// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "catalog/catalog.hpp"
#include "catalog/entry.hpp"

namespace autopilot::catalog {

// What every log rule has, the catalog's and an operator's: id, pattern, title, and optionally health,
// action, class, subject, takes_back. `examples` are tried on the pattern.
[[nodiscard]] LogRule read_log_rule_core(Entry& entry, std::vector<std::string> examples);

}  // namespace autopilot::catalog
