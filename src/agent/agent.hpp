// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/cluster_link.hpp"
#include "agent/service_manager.hpp"
#include "api/v1.hpp"
#include "checks/check.hpp"
#include "config/config.hpp"
#include "core/log_parts.hpp"
#include "core/result.hpp"
#include "core/snapshot.hpp"
#include "diagnostics/operations/operations.hpp"
#include "host/diagnostic_results/results.hpp"
#include "host/host.hpp"
#include "runtime/runtime.hpp"

namespace autopilot::agent {

// The machine that the agent watches, with what only the code that opens it knows.
struct Machine {
  std::shared_ptr<const host::Host> host;
  std::string node;
  std::string boot_id;
  bool simulated = false;
  bool has_accelerator = false;
  // The required checks of a profile, resolved for this machine.
  std::function<std::vector<std::string>(const config::Config&)> required_checks;
  std::vector<checks::Check> checks;                                // built in and the operator's
  std::shared_ptr<const catalog::Catalog> facts;                    // likewise
  std::function<void(SelfStatus& self)> complete_self;              // helpers, kernel log, driver calls
  std::function<Status(const api::InjectRequest& request)> inject;  // makes a fault appear
  std::shared_ptr<host::TestBoard> tests;  // what the agent's active tests find; read through `host`
  std::vector<diagnostics::OperationKind> operations{};  // tests that only this machine has
};

struct AgentOptions {
  config::Config config;
  // Reads the configuration file; called at SIGHUP and when the file changed.
  std::function<Result<config::Config>()> reload;
  // Something that changes whenever the configuration file does; empty without a file.
  std::function<std::string()> configuration_version;
  // Opens the machine; `on_kernel_news` may be called from any thread.
  std::function<Result<Machine>(OnKernelNews on_kernel_news)> open_machine;
  ServiceManager service_manager;
  // Where the Node object of this machine is written; nothing: nowhere.
  std::optional<kube::ClusterDoor> cluster = {};
  kube::ReadFile read_file = {};  // of keys and certificates
  bool allow_simulated = false;   // a machine that does not exist may write there too, and act on jobs
};

// Runs until SIGTERM or SIGINT. Errors are those of the start: a port in use, a folder that cannot be made, a
// simulated machine that may not write to a cluster.
[[nodiscard]] Status run_agent(AgentOptions options);

}  // namespace autopilot::agent
