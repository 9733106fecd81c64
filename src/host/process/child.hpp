// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/files/fd.hpp"

namespace autopilot::host {

// A program to start. Nothing is searched in PATH and nothing is inherited that is not named here.
struct Command {
  std::string program;
  std::vector<std::string> arguments;    // without the program's own name
  std::vector<std::string> environment;  // all of it: "NAME=value"
  // It stays in the process group of this process: ending that group ends both. What it leaves behind is
  // not killed when it ends, but with the group.
  bool joins_group = false;
};

// The environment of this process, for a Command that should have the same.
[[nodiscard]] std::vector<std::string> own_environment();
// What of it a program of GPU tests gets that is not ours: where things lie (PATH, HOME, TMPDIR,
// LD_LIBRARY_PATH), language and time zone, and what CUDA, DCGM, NCCL, NVIDIA's driver and UCX read.
[[nodiscard]] std::vector<std::string> environment_of_tests();
// The path of the program that this process runs; what belongs to it lies beside.
[[nodiscard]] Result<std::string> own_executable();
// The path of a program of that name in the same folder. not_found: it is not there, or may not be run.
[[nodiscard]] Result<std::string> program_beside_own(const std::string& name);

// What the child gets besides /dev/null as standard input. Below 0: /dev/null, for `extra` nothing.
struct ChildFiles {
  int output = -1;  // becomes 1
  int errors = -1;  // becomes 2
  int extra = -1;   // becomes 3
};

struct ChildStatus {
  bool was_signalled = false;
  int code = 0;  // exit code, or number of the signal
};

// "exit code 3", "signal 11 (Segmentation fault)"
[[nodiscard]] std::string to_string(const ChildStatus& status);

// A running program: leader of its own process group unless its command sets joins_group, with an empty
// signal mask, default signal handlers and no descriptor of ours but those of ChildFiles. When it ends, what
// it left in its group is killed. One owner; not thread-safe.
class Child {
 public:
  // An error names the program and the reason why it could not be executed.
  [[nodiscard]] static Result<Child> start(const Command& command, const ChildFiles& files);

  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  // Kills what still runs and waits up to a second for its end.
  ~Child();

  [[nodiscard]] pid_t pid() const { return pid_; }
  // Readable when the child has ended.
  [[nodiscard]] int pidfd() const { return pidfd_.get(); }
  // To its whole group; to it alone where that is not its own.
  void send_signal(int signal) const;
  // Its end, or nothing when it still runs at the deadline (also after SIGKILL: it hangs in the kernel).
  [[nodiscard]] std::optional<ChildStatus> wait_until(MonoTime deadline);

 private:
  Child(pid_t pid, bool leads_group, Fd pidfd)
      : pid_(pid), leads_group_(leads_group), pidfd_(std::move(pidfd)) {}
  void finish();

  pid_t pid_ = -1;
  bool leads_group_ = true;
  Fd pidfd_;
  std::optional<ChildStatus> status_;
};

// The path of the program with that name: the name itself when it is a path, else the first that may be
// started in the folders of the PATH of `environment` ("NAME=value"). not_found. A minimal image has no
// env(1) to ask.
[[nodiscard]] Result<std::string> find_program(std::string_view name,
                                               std::span<const std::string> environment);

// This process becomes that program, found in PATH, with its environment, streams and terminal. Comes back
// only when it could not. not_found: there is no such program. One thread may be running.
[[nodiscard]] Error replace_process(const std::string& program, const std::vector<std::string>& arguments);

}  // namespace autopilot::host
