// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace autopilot::logging {

struct BuildInfo {
  std::string_view version;   // "0.1.0"
  std::string_view commit;    // short hash, with "-dirty" if the tree differed; "unknown" outside git
  std::string_view compiler;  // "clang 16.0.6"
  std::string_view type;      // "Release"
};

[[nodiscard]] BuildInfo build_info();

}  // namespace autopilot::logging
