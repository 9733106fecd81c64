// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/clock.hpp"
#include "kube/objects.hpp"

namespace autopilot::preflight {

// Whether the node came back not long ago: `<prefix>/probation` names a time that is still to come. What
// cannot be read counts as such: who wrote it wanted the node to be looked at more closely. Pure.
[[nodiscard]] bool is_on_probation(const kube::Node& node, const std::string& prefix, WallTime now);

}  // namespace autopilot::preflight
