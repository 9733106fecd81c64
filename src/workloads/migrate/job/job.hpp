// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/word_table.hpp"
#include "workloads/migrate/job/values.hpp"
#include "workloads/migrate/script/script.hpp"

// What a job of LSF or Slurm requests, independent of both and of Kubernetes. Missing values were not given.
namespace autopilot::workloads::migrate {

enum class Scope : std::uint8_t { host, task, job, cpu, gpu };

struct Memory {
  std::int64_t bytes = 0;
  Scope scope = Scope::host;
  bool has_scope = false;  // given with the value: "4GB/task"
};

struct GpuRequest {
  std::optional<int> per_host;
  std::optional<int> per_task;
  std::optional<int> total;
  std::optional<int> per_socket;
  std::string model;  // as the scheduler names it; empty: any
  bool is_shared = false;
};

// The resources of a job, or of one component of a heterogeneous job.
struct JobPart {
  std::optional<int> tasks;
  std::optional<int> hosts;
  std::optional<int> tasks_per_host;
  std::optional<int> cpus_per_task;
  std::optional<int> cpus_per_gpu;
  std::optional<int> tasks_per_gpu;
  std::optional<int> sockets_per_host;
  bool is_one_host = false;
  GpuRequest gpu;
  std::optional<Memory> memory;
  std::optional<Memory> memory_limit;  // of LSF; without `memory` it is also requested
  bool wants_whole_memory = false;
  bool is_exclusive = false;
  std::optional<std::int64_t> scratch_bytes;  // local disk of each host
  std::vector<std::string> queues;
  std::vector<std::string> hosts_included;
  std::vector<std::string> hosts_excluded;
  std::vector<std::string> constraints;  // as written
};

struct Dependency {
  std::string kind;    // "afterok", "done", ...; "singleton"
  std::string target;  // an id or a name; empty for singleton
};

struct JobSignal {
  std::string name;  // without SIG: "USR1"
  std::chrono::seconds before{60};
  bool is_for_script = false;  // else for all processes of the steps
};

struct Job {
  Scheduler scheduler = Scheduler::lsf;
  std::string original_name;
  std::string name;  // of objects
  std::vector<JobPart> parts{JobPart{}};
  RunLimit run_limit;
  bool has_run_limit = false;  // given, maybe as unlimited
  std::vector<std::pair<std::string, std::string>> labels;
  std::vector<std::pair<std::string, std::string>> variables;
  bool has_clean_environment = false;
  std::optional<ArrayIndices> array;
  std::vector<Dependency> dependencies;
  std::optional<bool> is_requeued;
  std::vector<int> retried_exit_codes;
  std::optional<JobSignal> signal;
  std::string output;
  std::string error;
  std::string input;
  std::string workdir;
  std::string shell;
  bool is_login_shell = false;
  bool is_held = false;
  std::string begin;
  std::string deadline;
  std::string container_image;
  std::string pre_command;
  std::string post_command;
  std::vector<std::string> command;  // of the submit command: a script and its arguments, or a program
  std::string wrapped;               // --wrap of sbatch
};

// What becomes of a directive.
enum class Fate : std::uint8_t { kept, translated, approximated, dropped };

inline constexpr WordTable<Fate, 4> kFates{{{Fate::kept, "kept"},
                                            {Fate::translated, "translated"},
                                            {Fate::approximated, "approximated"},
                                            {Fate::dropped, "dropped"}}};

struct DirectiveRow {
  int line = 0;           // 0: of the command line
  std::string directive;  // "-W 23:59"
  Fate fate = Fate::dropped;
  std::string becomes;  // "activeDeadlineSeconds: 86340"
};

}  // namespace autopilot::workloads::migrate
