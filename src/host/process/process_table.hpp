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
#include "host/process/process_reader.hpp"
#include "host/process/processes.hpp"

namespace autopilot::host {

// One process, and for a process that may belong to a job how it was started.
struct Process {
  TaskState task;
  GpuUserOwner owner;  // container, pod and batch job according to the kernel's control groups
  // The process may belong to a job: the members below were read.
  bool is_candidate = false;
  Launch launch;
  // The environment could not be read. unavailable: the process was blocked in the kernel.
  std::optional<Errc> launch_error;
  std::optional<std::uint32_t> user;    // effective user id
  std::uint64_t network_namespace = 0;  // inode; 0: unknown
  std::int64_t inner_pid = 0;           // its pid in its own PID namespace; 0: unknown
};

// The processes of the machine that are visible to this process. Environments and arguments are read of
// candidates only: processes on GPUs, in a pod or a batch job, below a launcher, and Python programs. What
// was read of a process is kept until it ends; in the first rounds it is read again, for a process may
// execute another program soon after its start. A process that is blocked in the kernel (D) is not read:
// reading its memory could block as well. Not thread-safe; may block like Files.
class ProcessTable {
 public:
  static constexpr std::size_t kMostProcesses = 8192;
  // A kernel thread, and a process that may not belong to a job, is read in one of so many rounds.
  static constexpr int kRestingRounds = 12;
  static constexpr std::size_t kMostThreadsRemembered = 65536;
  static constexpr int kRoundsRead = 4;

  // `files` and `reader` outlive the object. `reader`: reads processes of other users where this process may
  // not; null: none. Beyond `most` processes they are only counted.
  explicit ProcessTable(const Files& files, const ProcessReader* reader = nullptr,
                        std::size_t most = kMostProcesses)
      : files_(files), reader_(reader), most_(most) {}

  // Reads the table. A process that ends meanwhile is left out. An error: no process could be read.
  [[nodiscard]] Status refresh(const std::set<std::int64_t>& on_gpus);

  // By pid; without kernel threads and zombies.
  [[nodiscard]] const std::map<std::int64_t, Process>& processes() const { return processes_; }
  [[nodiscard]] std::size_t left_out() const { return left_out_; }  // beyond the limit
  // Why the reader did not read a process in the last round; empty: it read all.
  [[nodiscard]] const std::string& reader_problem() const { return reader_problem_; }
  // The first PID namespace is visible, that of the machine.
  [[nodiscard]] bool sees_machine() const { return sees_machine_; }

 private:
  struct Before {
    std::map<std::int64_t, Process> processes;
    std::set<std::int64_t> kernel_threads;
  };

  [[nodiscard]] bool take_resting(std::int64_t pid, const std::set<std::int64_t>& on_gpus, Before& before);
  // nullopt: it ended meanwhile, is a zombie or a kernel thread.
  [[nodiscard]] std::optional<TaskState> read_task(std::int64_t pid);
  [[nodiscard]] bool is_below_launcher(std::int64_t pid) const;
  void add(TaskState task, std::map<std::int64_t, Process>& before);
  // False: it ended meanwhile.
  [[nodiscard]] bool read_candidate(Process& process);
  // What is closed to this process. `before`: what was read in an earlier round, which remains true.
  void read_closed(Process& process, const Process& before);
  void read_candidates(const std::set<std::int64_t>& on_gpus);

  const Files& files_;
  const ProcessReader* reader_;
  std::size_t most_;
  std::map<std::int64_t, Process> processes_;
  std::map<std::int64_t, int> reads_;  // rounds in which each process was read
  std::set<std::int64_t> kernel_threads_;
  int round_ = 0;
  std::size_t left_out_ = 0;
  std::string reader_problem_;
  bool sees_machine_ = false;
};

}  // namespace autopilot::host
