// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cli/open_machine.hpp"
#include "cli/slurm/node_fitness.hpp"
#include "core/clock.hpp"

namespace autopilot::cli {

// The source of the judgement: the agent of the node; without one, the passive checks in a child process.
struct FitnessSource {
  std::string socket;       // of the agent; empty: the configured one, and no agent is needed
  std::string config_file;  // names the agent and configures the checks; empty: the default one
  MachineChoice machine;
  bool runs_checks = false;  // the agent runs its passive checks again before it answers
};

// Blocks until `until` at the latest, and 4 s more for an agent or a child that does not end. An agent that
// starts is waited for. Whatever fails makes the node unknown, with the reason. If no agent answers, the
// reason names its address.
[[nodiscard]] NodeFitness ask_fitness(const FitnessSource& source, MonoTime until);

}  // namespace autopilot::cli
