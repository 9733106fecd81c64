// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/subject.hpp"

namespace autopilot::diagnostics::testing {

inline Subject gpu(int number) {
  return {SubjectKind::gpu, "0000:0" + std::to_string(number) + ":00.0", number,
          "GPU-" + std::to_string(number), ""};
}

}  // namespace autopilot::diagnostics::testing
