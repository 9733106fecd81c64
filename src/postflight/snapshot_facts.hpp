// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/snapshot.hpp"
#include "core/subject.hpp"

namespace autopilot::postflight {

// The kind of machine of a GPU for its measurements, as learning::kind_text: the product name of the GPU and
// the major version of NVIDIA's driver, as checks read them. Empty: no check has read the product name.
[[nodiscard]] std::string kind_of(const NodeSnapshot& snapshot, const Subject& gpu);

}  // namespace autopilot::postflight
