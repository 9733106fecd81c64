// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/subject.hpp"

namespace autopilot::preflight::testing {

inline Subject gpu(const std::string& key) {
  return {SubjectKind::gpu, key, {}, "GPU-" + key, {}};
}

}  // namespace autopilot::preflight::testing
