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

// Name of the controller's objects in its cluster. All of them are in its namespace.
inline constexpr const char* kControllerName = "autopilot-controller";  // Service, Lease, account

struct ControllerOptions {
  config::ControllerConfig config;
  // Reads the configuration from its file. Called on SIGHUP and after a change of the file.
  std::function<Result<config::ControllerConfig>()> reload;
  // A text that changes whenever the file changes; empty without a file.
  std::function<std::string()> configuration_version;
  PolicyFile policy_file;
  kube::ClusterDoor cluster;
  kube::RunBlocking run_blocking;  // tasks can outlive the controller
  const Clock& clock;              // outlives all threads: a thread that hangs on a disk is abandoned
};

// Runs until SIGTERM or SIGINT. Returns errors of the start, such as a port that is in use. Requests that the
// API server refuses or does not answer are repeated until they succeed.
[[nodiscard]] Status run_controller(ControllerOptions options);

}  // namespace autopilot::controller
