// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "checks/check.hpp"

namespace autopilot::golden {

// Registers a test: checks give the same results on a scrubbed recording of the machine in `source` as on the
// recording, and no value that identifies it remains. Without a check: all checks run.
void add_scrub_test(const std::string& group, const std::string& name, const std::string& source,
                    const checks::Check* check);

}  // namespace autopilot::golden
