// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "agent/agent.hpp"
#include "config/config.hpp"
#include "runtime/runtime.hpp"

namespace autopilot::agent {

// How the checks run: the settings of the configuration, resolved for this machine.
[[nodiscard]] runtime::RuntimeSettings runtime_settings(const config::Config& config, const Machine& machine);
[[nodiscard]] runtime::RuntimeOptions runtime_options(const config::Config& config, const Machine& machine);

}  // namespace autopilot::agent
