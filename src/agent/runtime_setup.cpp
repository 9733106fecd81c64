// SPDX-License-Identifier: Apache-2.0
#include "agent/runtime_setup.hpp"

namespace autopilot::agent {

runtime::RuntimeSettings runtime_settings(const config::Config& config, const Machine& machine) {
  runtime::RuntimeSettings settings;
  for (const auto& [id, check] : config.checks)
    settings.checks[id] = {check.enabled, check.period, check.deadline, check.window};
  settings.expectation = config.expectation;
  settings.expectation.required_checks = machine.required_checks(config);
  return settings;
}

runtime::RuntimeOptions runtime_options(const config::Config& config, const Machine& machine) {
  runtime::RuntimeOptions options;
  options.node = machine.node;
  options.boot_id = machine.boot_id;
  options.profile = config.profile;
  options.simulated = machine.simulated;
  options.has_accelerator = machine.has_accelerator;
  options.follow_up_check = {{"gpu", "gpu.driver"}};
  options.workers.threads = config.limits.lanes;
  options.workers.max_stuck = config.limits.stuck_lanes;
  return options;
}

}  // namespace autopilot::agent
