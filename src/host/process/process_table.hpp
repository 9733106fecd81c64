// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "core/gpu_user.hpp"
#include "core/result.hpp"
#include "host/files/files.hpp"
#include "host/process/launch.hpp"
#include "host/process/processes.hpp"

namespace autopilot::host {

// One process, and for a process that may belong to a job how it was started.
struct Process {
  TaskState task;
  GpuUserOwner owner;  // container, pod and batch job according to the kernel's control groups
  // The process may belong to a job: the members below were read.
  bool is_candidate = false;
  Launch launch;
  std::optional<Errc> launch_error;     // the environment or the arguments could not be read
  std::optional<std::uint32_t> user;    // effective user id
  std::uint64_t network_namespace = 0;  // inode; 0: unknown
  std::int64_t inner_pid = 0;           // its pid in its own PID namespace; 0: unknown
};

// The processes of the machine that are visible to this process. Environments and arguments are read of
// candidates only: processes on GPUs, in a pod or a batch job, below a launcher, and Python programs. What
// was read of a process is kept until it ends; in the first rounds it is read again, for a process may
// execute another program soon after its start. Not thread-safe; may block like Files.
class ProcessTable {
 public:
  static constexpr std::size_t kMostProcesses = 8192;
  // A kernel thread is recognised again without reading it, so often in a row.
  static constexpr int kKernelThreadRounds = 12;
  static constexpr std::size_t kMostThreadsRemembered = 65536;
  static constexpr int kRoundsRead = 4;

  // `files` outlives the object.
  explicit ProcessTable(const Files& files) : files_(files) {}

  // Reads the table. A process that ends meanwhile is left out. An error: no process could be read.
  [[nodiscard]] Status refresh(const std::set<std::int64_t>& on_gpus);

  // By pid; without kernel threads and zombies.
  [[nodiscard]] const std::map<std::int64_t, Process>& processes() const { return processes_; }
  [[nodiscard]] std::size_t left_out() const { return left_out_; }  // beyond kMostProcesses
  // The first PID namespace is visible, that of the machine.
  [[nodiscard]] bool sees_machine() const { return sees_machine_; }

 private:
  // nullopt: it ended meanwhile, is a zombie or a kernel thread.
  [[nodiscard]] std::optional<TaskState> read_task(std::int64_t pid);
  [[nodiscard]] bool is_below_launcher(std::int64_t pid) const;
  void add(TaskState task, std::map<std::int64_t, Process>& before);
  void read_candidate(Process& process) const;

  const Files& files_;
  std::map<std::int64_t, Process> processes_;
  std::map<std::int64_t, int> reads_;      // rounds in which each process was read
  std::set<std::int64_t> kernel_threads_;  // until the next full round
  int round_ = 0;
  std::size_t left_out_ = 0;
  bool sees_machine_ = false;
};

}  // namespace autopilot::host
