// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>
#include <optional>

#include "probes/net/run/options.hpp"

namespace autopilot::probes::net {

// The part of the command line that is about RDMA.
class RdmaCommands {
 public:
  // Adds them to the program's.
  explicit RdmaCommands(CLI::App& app);

  // What was asked for, once the command line is read. Nothing: it is about something else.
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
