// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace autopilot::cli {

// One fault that the simulator can inject.
struct ListedFault {
  std::string id;
  std::string title;      // one sentence
  std::string subject;    // what it is about: "gpu", "infiniband", "host"
  std::string magnitude;  // meaning and unit; empty: none
  double default_magnitude = 0;
  std::vector<std::string> kinds;  // for scenarios; may be empty
  std::string example;             // a command line
};

// The output of `autopilot-sim faults -o json`.
[[nodiscard]] Result<std::vector<ListedFault>> parse_fault_list(std::string_view json);

// One paragraph for each fault, 80 columns. Pure.
[[nodiscard]] std::string render_faults(const std::vector<ListedFault>& faults);

}  // namespace autopilot::cli
