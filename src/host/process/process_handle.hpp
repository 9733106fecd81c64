// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/files/fd.hpp"

namespace autopilot::host {

// One process of this machine, held by its folder of procfs: a later process with the same pid is never read.
// Calls may block in the kernel if the process hangs there. Thread-safe.
class ProcessHandle {
 public:
  static constexpr std::size_t kMaxEnvironment = std::size_t{2} << 20;  // bytes
  static constexpr std::size_t kMaxThreads = 65536;

  // not_found: the process has ended, or another one has its pid now.
  [[nodiscard]] static Result<ProcessHandle> open(std::int64_t pid, std::uint64_t started_ticks);

  // A file of the folder, such as "status" or "task/12/wchan"; at most `limit` bytes, the rest is cut.
  // denied: the kernel shows it only to root or to the user of the process.
  [[nodiscard]] Result<std::string> read(const std::string& name, std::size_t limit) const;
  // The values of the named variables of its initial environment; others are not returned.
  [[nodiscard]] Result<std::map<std::string, std::string, std::less<>>> environment(
      const std::vector<std::string_view>& names) const;
  // The beginning of its initial environment, at most `limit` bytes, from its memory. CAP_SYS_PTRACE
  // suffices; the file environ opens only to the user of the process and with a capability to read all files.
  // Empty while the process ends. denied: CAP_SYS_PTRACE is missing.
  [[nodiscard]] Result<std::string> initial_environment(std::size_t limit) const;
  // Thread ids, ascending; the main thread has the pid.
  [[nodiscard]] Result<std::vector<std::int64_t>> threads() const;
  // The pid that the process itself sees, in the innermost pid namespace.
  [[nodiscard]] Result<std::int64_t> inner_pid() const;
  // The user to whom the files that it creates belong, as this process sees it.
  [[nodiscard]] Result<std::uint32_t> file_user() const;
  // A handle for setns(2). denied: needs CAP_SYS_PTRACE, or the user of the process.
  [[nodiscard]] Result<Fd> network_namespace() const;
  // True: this process is in the same network namespace. Needs no permission.
  [[nodiscard]] Result<bool> shares_own_network() const;

  // A regular file as the process sees it. Symbolic links never lead out of the root of the process.
  // malformed: not an absolute path, or not a regular file.
  [[nodiscard]] Result<Fd> open_file(const std::string& path) const;
  // A named pipe for writing, without waiting for a reader. unavailable: no program reads it.
  [[nodiscard]] Result<Fd> open_pipe(const std::string& path) const;

  [[nodiscard]] std::int64_t pid() const { return pid_; }

 private:
  ProcessHandle(std::int64_t pid, Fd folder) : pid_(pid), folder_(std::move(folder)) {}
  [[nodiscard]] Result<Fd> find_in_root(const std::string& path) const;
  [[nodiscard]] std::string shown(std::string_view name) const;
  // The last number of a line of "status", such as "NSpid:".
  [[nodiscard]] Result<std::int64_t> last_of_status(std::string_view member) const;

  std::int64_t pid_;
  Fd folder_;
};

// When a process with that start, in ticks since boot, started; exact to a tick and to changes of the wall
// clock.
[[nodiscard]] WallTime wall_time_of_start(std::uint64_t started_ticks);

}  // namespace autopilot::host
