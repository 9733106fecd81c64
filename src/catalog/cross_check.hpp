// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "catalog/catalog.hpp"

namespace autopilot::catalog {

// What does not fit together between entries: equal ids, references to nothing. One problem per line; empty
// when all is well.
[[nodiscard]] std::string cross_check(const Facts& facts);

}  // namespace autopilot::catalog
