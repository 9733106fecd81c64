// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "catalog/catalog.hpp"

namespace autopilot::catalog {

// Conflicts between entries: equal ids, references to missing entries. One problem per line; empty if there
// are none.
[[nodiscard]] std::string cross_check(const Facts& facts);

}  // namespace autopilot::catalog
