// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace autopilot::cli {

// `autopilot migrate --objects`: checks objects of OpenShift that were written by hand, and writes corrected
// files into `out`, or those in YAML to standard output if `out` is empty. Returns the exit code.
[[nodiscard]] int migrate_objects(const std::vector<std::string>& files, const std::string& out,
                                  bool is_json);

}  // namespace autopilot::cli
