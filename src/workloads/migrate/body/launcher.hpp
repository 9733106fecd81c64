// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/word_table.hpp"
#include "workloads/migrate/body/shell.hpp"
#include "workloads/migrate/body/values_of.hpp"

namespace autopilot::workloads::migrate {

enum class LauncherKind : std::uint8_t {
  mpirun,
  jsrun,
  srun,
  torchrun,
  deepspeed,
  accelerate,
  horovodrun,
  ddlrun,
  blaunch,
};

inline constexpr WordTable<LauncherKind, 9> kLauncherKinds{{{LauncherKind::mpirun, "mpirun"},
                                                            {LauncherKind::jsrun, "jsrun"},
                                                            {LauncherKind::srun, "srun"},
                                                            {LauncherKind::torchrun, "torchrun"},
                                                            {LauncherKind::deepspeed, "deepspeed"},
                                                            {LauncherKind::accelerate, "accelerate"},
                                                            {LauncherKind::horovodrun, "horovodrun"},
                                                            {LauncherKind::ddlrun, "ddlrun"},
                                                            {LauncherKind::blaunch, "blaunch"}}};

// An option of a launcher and the words that have its value.
struct LauncherOption {
  std::string name;  // "--nnodes"; '_' is written as '-'
  std::string value;
  std::size_t first_word = 0;
  std::size_t last_word = 0;  // with the value
};

// A command that starts processes, maybe on several hosts.
struct LauncherCall {
  LauncherKind kind = LauncherKind::mpirun;
  std::size_t command = 0;       // index in ShellScript::commands
  std::size_t word = 0;          // of the launcher in the command
  std::size_t program_word = 0;  // of the program; the number of words if there is none
  int number = 0;                // line of the script
  std::vector<LauncherOption> options;
  std::vector<std::string> unknown;  // options that the launcher does not have; maybe they have a value
  std::optional<int> ranks;
  std::optional<int> ranks_per_host;
  std::optional<int> hosts;
  std::optional<int> gpus_per_rank;
  std::optional<int> gpus_of_set;  // that ranks_of_set ranks of a host share; missing: all ranks see all
  int ranks_of_set = 1;
  std::optional<int> cpus_per_rank;
  bool is_setup = false;    // starts no part of the work, for example hostname
  bool is_in_text = false;  // in the value of a variable; its place cannot be changed
};

// The launchers of a script, in order. `values` has the variables of the scheduler; variables of the
// script are added in the order of its lines.
[[nodiscard]] std::vector<LauncherCall> find_launchers(const ShellScript& script, KnownValues& values);

// Reaches other hosts: everything but torchrun --standalone and the like.
[[nodiscard]] bool spans_hosts(const LauncherCall& call);
[[nodiscard]] bool is_mpi_like(LauncherKind kind);
[[nodiscard]] bool is_torch_like(LauncherKind kind);
// The options of srun, for a program that reads them.
struct SrunOptions {
  std::vector<std::string> flags;  // without a word behind them; an optional value is behind "="
  std::vector<std::string> with_value;
};
[[nodiscard]] SrunOptions srun_options();

[[nodiscard]] const LauncherOption* option_of(const LauncherCall& call, std::string_view name);

}  // namespace autopilot::workloads::migrate
