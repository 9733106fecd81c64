// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/clock.hpp"
#include "core/observation.hpp"
#include "core/result.hpp"
#include "core/yaml.hpp"

namespace autopilot::cli {

// An entry of `tests` in machine.yaml. Ages are relative to `now`.
[[nodiscard]] YamlNode active_test(const Result<Observations>& found, Instant now);

}  // namespace autopilot::cli
