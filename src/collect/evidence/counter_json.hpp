// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "collect/evidence/counter_reading.hpp"

namespace autopilot::collect {

// The text of counters.json: each value of both readings beside each other. missing: missing_parts().
[[nodiscard]] std::string counters_json(const BothReadings& readings,
                                        const std::vector<std::string>& missing);

}  // namespace autopilot::collect
