// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/gpu_user.hpp"
#include "core/result.hpp"
#include "host/files/files.hpp"

namespace autopilot::host {

// "/proc/4711"
[[nodiscard]] inline std::string process_folder(std::int64_t pid) {
  return "/proc/" + std::to_string(pid);
}

// The kernel's row of one process (/proc/<pid>/stat).
struct TaskState {
  std::int64_t pid = 0;
  std::string name;
  char state = '?';  // the kernel's letter: R, S, D, Z, T, I ...
  std::int64_t parent = 0;
  bool is_kernel_thread = false;
  std::uint64_t started_ticks = 0;  // since boot; with the pid it means one process only
  std::uint64_t cpu_ticks = 0;      // of all its threads, in user and kernel mode
};

// Of the ticks above, on every Linux.
inline constexpr int kTicksPerSecond = 100;

// malformed: not such a row. A name may hold blanks and brackets.
[[nodiscard]] Result<TaskState> parse_task_state(std::string_view text);

// One process. not_found: it ended.
[[nodiscard]] Result<TaskState> read_task_state(const Files& files, std::int64_t pid);

// What a process has read and written since its start. Through system calls: files, pipes and devices, from
// the page cache too, but not sockets. From storage: what disks and file servers were asked for.
struct TaskIo {
  std::uint64_t call_read_bytes = 0;
  std::uint64_t call_written_bytes = 0;
  std::uint64_t storage_read_bytes = 0;
  std::uint64_t storage_written_bytes = 0;
};

// /proc/<pid>/io. denied: of another user, without CAP_SYS_PTRACE.
[[nodiscard]] Result<TaskIo> read_task_io(const Files& files, std::int64_t pid);
[[nodiscard]] Result<TaskIo> parse_task_io(std::string_view text);

// How long the main thread of a process was ready to run and waited for a processor since its start: others
// ran, or the limit of its cgroup was used up. /proc/<pid>/schedstat; readable for every user. not_found: the
// process ended, or the kernel does not count it.
[[nodiscard]] Result<Duration> read_run_delay(const Files& files, std::int64_t pid);
[[nodiscard]] Result<Duration> parse_run_delay(std::string_view text);

// A process in a sleep that no signal ends (D).
struct BlockedTask {
  TaskState task;
  // How often it left a processor; while the number stays the same it did not run. Nothing: not readable.
  std::optional<std::uint64_t> switches;
  std::string waits_in;  // a function of the kernel; empty where this reader lacks the permission
};

struct Tasks {
  static constexpr std::size_t kMostLookedAt = 8192;
  static constexpr std::size_t kMostBlocked = 128;

  std::vector<BlockedTask> blocked;  // beyond kMostBlocked they are only counted
  std::vector<TaskState> zombies;    // ended and not collected by their parent
  std::vector<TaskState> stopped;    // by a signal (T) or a debugger (t)
  std::size_t blocked_count = 0;
  std::size_t looked_at = 0;
  std::size_t left_out = 0;  // beyond kMostLookedAt
};

// Reads every process once, without its further threads. A process that ends meanwhile is not an error; an
// error means that no process could be read.
[[nodiscard]] Result<Tasks> read_tasks(const Files& files);

// The processes that are visible, in no particular order.
[[nodiscard]] Result<std::vector<std::int64_t>> list_processes(const Files& files);

// The rows of /proc/<pid>/cgroup: the container, the pod's UID and the batch job that the paths name, in the
// words of containerd, CRI-O, Docker, Podman and Slurm, cgroup v1 and v2. Other rows say nothing.
[[nodiscard]] GpuUserOwner parse_cgroups(std::string_view text);
// The same of one path, as the kernel log names it: "/kubepods.slice/kubepods-pod<uid>.slice".
[[nodiscard]] GpuUserOwner parse_cgroup_path(std::string_view path);

// "namespace" and "name" by UID: the folders where the kubelet keeps the logs of the pods of this node.
using PodNames = std::map<std::string, std::pair<std::string, std::string>, std::less<>>;
// Empty where there is no kubelet, or its folder may not be read.
[[nodiscard]] PodNames read_pod_names(const Files& files);

// One process with its name and its owner. not_found when it ended meanwhile.
[[nodiscard]] Result<GpuUser> read_gpu_user(const Files& files, std::int64_t pid, const PodNames& pods);

// The name of a user in this machine's own list of users. Directory services are not asked: they may hang.
[[nodiscard]] std::optional<std::string> local_user_name(std::uint32_t uid);

}  // namespace autopilot::host
