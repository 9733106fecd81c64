// SPDX-License-Identifier: Apache-2.0
#include "host/process/supervisor.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <ctime>
#include <fstream>
#include <optional>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.hpp"
#include "host/files/fd.hpp"

namespace autopilot::host {
namespace {

constexpr auto kGrace = std::chrono::milliseconds{50};

// The one program and the orphans that it left, which the kernel makes children of this process.
class Family {
 public:
  explicit Family(pid_t program) : program_(program) {}

  // Collects ended children; the status of waitpid(2) once the program is among them.
  [[nodiscard]] std::optional<int> collect() {
    int status = 0;
    for (pid_t pid = ::waitpid(-1, &status, WNOHANG); pid > 0; pid = ::waitpid(-1, &status, WNOHANG))
      if (pid == program_) ended_ = status;
    return ended_;
  }

  // Returns when none is left: each that dies hands its children up to this process.
  void kill_all() {
    int status = 0;
    while (kill_children()) {
      const pid_t pid = ::waitpid(-1, &status, 0);
      if (pid == program_) ended_ = status;
      if (pid < 0 && errno != EINTR) return;
    }
  }

  void send(int signal) const {
    if (!ended_) ::kill(program_, signal);
  }

 private:
  // Not collected yet, so that the numbers belong to them.
  [[nodiscard]] static bool kill_children() {
    std::ifstream children("/proc/thread-self/children");
    bool has_any = false;
    for (pid_t pid = 0; children >> pid; has_any = true)
      ::kill(pid, SIGKILL);
    return has_any;
  }

  pid_t program_;
  std::optional<int> ended_;
};

sigset_t watched() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGCHLD);
  return set;
}

timespec to_timespec(Duration duration) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(duration);
  return {seconds.count(), (duration - seconds).count()};
}

// The status of the program, or nothing if it got SIGTERM and did not end within the grace.
std::optional<int> wait_for(Family& family) {
  const sigset_t set = watched();
  std::optional<MonoTime> until;
  while (true) {
    if (const auto status = family.collect()) return status;
    int signal = 0;
    if (!until) {
      signal = ::sigwaitinfo(&set, nullptr);
    } else {
      const Duration left = *until - mono_now();
      if (left <= Duration::zero()) return std::nullopt;
      const timespec time = to_timespec(left);
      signal = ::sigtimedwait(&set, nullptr, &time);
    }
    if (signal != SIGTERM || until) continue;
    family.send(SIGTERM);
    until = mono_now() + kGrace;
  }
}

int die_by(int signal) {
  ::signal(signal, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
  ::raise(signal);
  return 128 + signal;
}

}  // namespace

Status die_with(pid_t parent, int signal) {
  if (::prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0) != 0) return fail_errno(errno, "die with the parent");
  if (::getppid() != parent) return fail(Errc::unavailable, "the process that started this has ended");
  return {};
}

Result<int> run_supervised(pid_t parent, const std::function<int()>& become) {
  const sigset_t set = watched();
  sigset_t before;
  ::sigprocmask(SIG_BLOCK, &set, &before);
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) return fail_errno(errno, "adopt orphans");
  TRY_STATUS(die_with(parent, SIGTERM));
  const pid_t program = ::fork();
  if (program < 0) return fail_errno(errno, "fork");
  if (program == 0) {
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    ::_exit(become());
  }
  Family family(program);
  const auto status = wait_for(family);
  family.kill_all();
  if (!status) return die_by(SIGKILL);
  return WIFSIGNALED(*status) ? die_by(WTERMSIG(*status)) : WEXITSTATUS(*status);
}

}  // namespace autopilot::host
