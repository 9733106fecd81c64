// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace autopilot::postflight {

// The id of a record of history: the text, or its stable_hash if history does not store so long an id. Keys
// of jobs and names of nodes have no limit of their own.
[[nodiscard]] std::string record_id(std::string whole);

}  // namespace autopilot::postflight
