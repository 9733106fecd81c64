// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/subject.hpp"

namespace autopilot::agent::testing {

inline Subject gpu(const std::string& key) {
  return {SubjectKind::gpu, key, {}, "GPU-" + key, {}};
}

}  // namespace autopilot::agent::testing
