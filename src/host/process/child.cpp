// SPDX-License-Identifier: Apache-2.0
#include "host/process/child.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>

#include "core/parse.hpp"
#include "host/files/fd.hpp"

namespace autopilot::host {
namespace {

constexpr int kExtra = 3;
// Above every number that the child's own table uses, so that no dup2 there overwrites a source of the next.
constexpr int kAboveTargets = 16;
constexpr auto kPatienceOfDestructor = std::chrono::seconds{1};

// Beginnings of "NAME=value".
constexpr std::array<std::string_view, 12> kOfTests{"PATH=", "HOME=", "TMPDIR=", "LD_LIBRARY_PATH=",
                                                    "LANG=", "LC_",   "TZ=",     "CUDA_",
                                                    "DCGM_", "NCCL_", "NVIDIA_", "UCX_"};

class SpawnActions {
 public:
  SpawnActions() { AUTOPILOT_ASSERT(posix_spawn_file_actions_init(&actions_) == 0); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  ~SpawnActions() { posix_spawn_file_actions_destroy(&actions_); }

  [[nodiscard]] Status give(int source, int target, int null_flags) {
    if (source < 0)
      return check(posix_spawn_file_actions_addopen(&actions_, target, "/dev/null", null_flags, 0));
    copies_.emplace_back(::fcntl(source, F_DUPFD_CLOEXEC, kAboveTargets));
    if (!copies_.back()) return fail_errno(errno, "duplicate a descriptor");
    return check(posix_spawn_file_actions_adddup2(&actions_, copies_.back().get(), target));
  }
  [[nodiscard]] Status close_from(int first) {
    return check(posix_spawn_file_actions_addclosefrom_np(&actions_, first));
  }
  [[nodiscard]] const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  static Status check(int error) {
    if (error != 0) return fail_errno(error, "prepare a child");
    return {};
  }
  posix_spawn_file_actions_t actions_{};
  std::vector<Fd> copies_;
};

class SpawnAttributes {
 public:
  explicit SpawnAttributes(bool joins_group) {
    AUTOPILOT_ASSERT(posix_spawnattr_init(&attributes_) == 0);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    const int group = joins_group ? 0 : POSIX_SPAWN_SETPGROUP;
    posix_spawnattr_setflags(&attributes_,
                             static_cast<short>(group | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
  }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;
  ~SpawnAttributes() { posix_spawnattr_destroy(&attributes_); }
  [[nodiscard]] const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts)
    list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

Result<pid_t> spawn(const Command& command, const ChildFiles& files) {
  SpawnActions actions;
  TRY_STATUS(actions.give(-1, STDIN_FILENO, O_RDONLY));
  TRY_STATUS(actions.give(files.output, STDOUT_FILENO, O_WRONLY));
  TRY_STATUS(actions.give(files.errors, STDERR_FILENO, O_WRONLY));
  if (files.extra >= 0) TRY_STATUS(actions.give(files.extra, kExtra, 0));
  TRY_STATUS(actions.close_from(files.extra >= 0 ? kExtra + 1 : kExtra));

  std::vector<std::string> arguments = {command.program};
  arguments.insert(arguments.end(), command.arguments.begin(), command.arguments.end());
  std::vector<std::string> environment = command.environment;
  const SpawnAttributes attributes(command.joins_group);
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, command.program.c_str(), actions.get(), attributes.get(),
                                  pointers(arguments).data(), pointers(environment).data());
  if (error != 0) return fail_errno(error, "cannot start " + command.program);
  return pid;
}

ChildStatus status_of(const siginfo_t& info) {
  return {.was_signalled = info.si_code != CLD_EXITED, .code = info.si_status};
}

// Of a child that has ended. Nothing: a tracer (a debugger, a leak detector) holds it, and the kernel hides
// its end from its parent until the tracer detaches.
std::optional<ChildStatus> reap(int pidfd, MonoTime deadline) {
  constexpr auto kAgain = std::chrono::milliseconds{1};
  while (true) {
    siginfo_t info{};
    const int done =
        ::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd), &info, WEXITED | WNOHANG);
    if (done != 0 && errno == EINTR) continue;
    if (done != 0) return ChildStatus{.was_signalled = false, .code = -1};
    if (info.si_pid != 0) return status_of(info);
    if (mono_now() >= deadline) return std::nullopt;
    std::this_thread::sleep_for(kAgain);
  }
}

}  // namespace

Result<std::string> own_executable() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return fail(errc_of(error.value()), "/proc/self/exe: " + error.message());
  return path.string();
}

Result<std::string> program_beside_own(const std::string& name) {
  const std::string self = TRY(own_executable());
  std::string program = self.substr(0, self.rfind('/') + 1) + name;
  if (::access(program.c_str(), X_OK) != 0)
    return fail(Errc::not_found, program + " is not there or may not be run: it belongs beside autopilot");
  return program;
}

std::vector<std::string> own_environment() {
  std::vector<std::string> variables;
  for (char** variable = ::environ; variable != nullptr && *variable != nullptr; ++variable)
    variables.emplace_back(*variable);
  return variables;
}

std::vector<std::string> environment_of_tests() {
  std::vector<std::string> variables = own_environment();
  std::erase_if(variables, [](const std::string& variable) {
    return std::ranges::none_of(kOfTests,
                                [&](std::string_view start) { return variable.starts_with(start); });
  });
  return variables;
}

std::string to_string(const ChildStatus& status) {
  if (!status.was_signalled) return "exit code " + std::to_string(status.code);
  const char* name = ::sigdescr_np(status.code);
  return "signal " + std::to_string(status.code) + " (" + (name == nullptr ? "unknown" : name) + ")";
}

Result<Child> Child::start(const Command& command, const ChildFiles& files) {
  const pid_t pid = TRY(spawn(command, files));
  Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd) {
    const int error = errno;
    ::kill(command.joins_group ? pid : -pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    return fail_errno(error, "pidfd of " + command.program);
  }
  return Child(pid, !command.joins_group, std::move(pidfd));
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      leads_group_(other.leads_group_),
      pidfd_(std::move(other.pidfd_)),
      status_(other.status_) {}

Child& Child::operator=(Child&& other) noexcept {
  if (this != &other) {
    finish();
    pid_ = std::exchange(other.pid_, -1);
    leads_group_ = other.leads_group_;
    pidfd_ = std::move(other.pidfd_);
    status_ = other.status_;
  }
  return *this;
}

Child::~Child() {
  finish();
}

void Child::finish() {
  if (pid_ < 0 || status_) return;
  send_signal(SIGKILL);
  static_cast<void>(wait_until(mono_now() + kPatienceOfDestructor));
}

void Child::send_signal(int signal) const {
  // Not yet reaped, so the number still belongs to this group.
  if (pid_ > 0 && !status_) ::kill(leads_group_ ? -pid_ : pid_, signal);
}

std::optional<ChildStatus> Child::wait_until(MonoTime deadline) {
  if (status_ || !pidfd_) return status_;
  if (!poll_until(pidfd_.get(), POLLIN, deadline)) return std::nullopt;
  // Its group dies before it is reaped: afterwards the number may belong to another group.
  if (leads_group_) ::kill(-pid_, SIGKILL);
  status_ = reap(pidfd_.get(), deadline);
  if (!status_ || !leads_group_) return status_;
  // Where this process is the init of its container, the orphans of the group are its children now.
  while (::waitpid(-pid_, nullptr, WNOHANG) > 0) {
  }
  return status_;
}

namespace {

constexpr std::string_view kPath = "PATH=";
constexpr std::string_view kWithoutPath = "/usr/bin:/bin";

bool may_start(const std::string& file) {
  struct stat status {};
  return ::stat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode) && ::access(file.c_str(), X_OK) == 0;
}

}  // namespace

Result<std::string> find_program(std::string_view name, std::span<const std::string> environment) {
  if (name.find('/') != std::string_view::npos) return std::string(name);
  std::string_view folders = kWithoutPath;
  for (const std::string& variable : environment)
    if (variable.starts_with(kPath)) folders = std::string_view(variable).substr(kPath.size());
  for (const std::string_view folder : split(folders, ':')) {
    std::string file(folder);
    file.append("/").append(name);
    if (!folder.empty() && may_start(file)) return file;
  }
  return fail(Errc::not_found, "no program of that name in " + std::string(folders));
}

Error replace_process(const std::string& program, const std::vector<std::string>& arguments) {
  std::vector<std::string> words{program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execvp(program.c_str(), argv.data());
  return fail_errno(errno, program).value();
}

}  // namespace autopilot::host
