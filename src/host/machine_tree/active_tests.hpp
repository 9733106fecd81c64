// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/clock.hpp"
#include "core/observation.hpp"
#include "core/result.hpp"
#include "core/yaml.hpp"

namespace autopilot::host {

// One entry of `tests` in machine.yaml. taken: when the tree was; ages count from there.
[[nodiscard]] Result<Observations> read_active_test(YamlMap map, Instant taken);

}  // namespace autopilot::host
