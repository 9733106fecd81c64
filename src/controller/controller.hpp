// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "config/controller_config.hpp"
#include "controller/live_configuration.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "kube/credentials.hpp"
#include "kube/session.hpp"

namespace autopilot::controller {

// The names of what the controller has in its cluster; all in its namespace but the last.
inline constexpr const char* kControllerName = "autopilot-controller";  // Service, Lease, account

struct ControllerOptions {
  config::ControllerConfig config;
  // The configuration as it stands now in its file; called at SIGHUP and when the file changed.
  std::function<Result<config::ControllerConfig>()> reload;
  // Something that changes whenever the file does; empty without a file.
  std::function<std::string()> configuration_version;
  PolicyFile policy_file;
  kube::ClusterDoor cluster;
  kube::RunBlocking run_blocking;  // of tasks that may outlast the controller
  const Clock& clock;
};

// Runs until SIGTERM or SIGINT. Errors are those of the start, such as a port in use; an API server that does
// not answer, or refuses, is asked again until it does.
[[nodiscard]] Status run_controller(ControllerOptions options);

}  // namespace autopilot::controller
