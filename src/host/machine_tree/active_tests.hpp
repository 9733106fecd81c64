// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/clock.hpp"
#include "core/observation.hpp"
#include "core/result.hpp"
#include "core/yaml.hpp"
#include "host/machine_tree/machine_tree.hpp"

namespace autopilot::host {

// One entry of `tests` in machine.yaml. taken: when the tree was; ages count from there.
[[nodiscard]] Result<Observations> read_active_test(YamlMap map, Instant taken);

// One entry of `probes`.
[[nodiscard]] TreeProbe read_probe(YamlMap map);

}  // namespace autopilot::host
