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

  // What the one that was parsed asks for. Nothing: none of them was.
  [[nodiscard]] std::optional<AllReduceOptions> asked() const;

 private:
  AllReduceOptions serve_;
  AllReduceOptions measure_;
  const CLI::App* serve_command_;
  const CLI::App* measure_command_;
};

}  // namespace autopilot::probes::gpu
