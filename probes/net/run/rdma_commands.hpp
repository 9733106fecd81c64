// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>
#include <optional>

#include "probes/net/run/options.hpp"

namespace autopilot::probes::net {

// The subcommands of RDMA.
class RdmaCommands {
 public:
  // Adds them to the program's.
  explicit RdmaCommands(CLI::App& app);

  // The options, after the command line is parsed. nullopt: another subcommand was used.
  [[nodiscard]] std::optional<Options> asked() const;

 private:
  RdmaServeOptions serve_;
  RdmaMeasureOptions measure_;
  RdmaLoopbackOptions loopback_;
  const CLI::App* serve_command_;
  const CLI::App* measure_command_;
  const CLI::App* loopback_command_;
};

}  // namespace autopilot::probes::net
