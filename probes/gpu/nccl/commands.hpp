// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>
#include <optional>

#include "probes/gpu/nccl/all_reduce_options.hpp"

namespace autopilot::probes::gpu {

// nccl-serve and nccl-measure, as subcommands of an app, which must not outlive it.
class NcclCommands {
 public:
  explicit NcclCommands(CLI::App& app);

  // Options of the parsed subcommand. nullopt: neither was parsed.
  [[nodiscard]] std::optional<AllReduceOptions> asked() const;

 private:
  AllReduceOptions serve_;
  AllReduceOptions measure_;
  const CLI::App* serve_command_;
  const CLI::App* measure_command_;
};

}  // namespace autopilot::probes::gpu
