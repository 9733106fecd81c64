// SPDX-License-Identifier: Apache-2.0
#include "probes/net/processes/crew.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <limits>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "core/parse.hpp"

namespace autopilot::probes::net {
namespace {

// The shells' exit code for a program that cannot be started.
constexpr int kNotStarted = 126;

bool is_program(const std::string& file) {
  struct stat facts {};
  return ::stat(file.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) && ::access(file.c_str(), X_OK) == 0;
}

[[noreturn]] void become(const std::string& file, std::vector<std::string> arguments, int output) {
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO})
    if (::dup2(output, stream) != stream) ::_exit(kNotStarted);
  std::vector<char*> words;
  for (std::string& argument : arguments)
    words.push_back(argument.data());
  words.push_back(nullptr);
  ::execv(file.c_str(), words.data());
  const std::string text = file + " cannot be started: " + std::strerror(errno) + "\n";
  (void)!::write(STDERR_FILENO, text.data(), text.size());
  ::_exit(kNotStarted);
}

}  // namespace

std::optional<std::string> find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  for (const std::string_view folder : split(path == nullptr ? "" : path, ':')) {
    // Relative folders are skipped: a program of the current directory is not an installed one.
    if (!folder.starts_with('/')) continue;
    std::string file = std::string(folder) + "/" + name;
    if (is_program(file)) return file;
  }
  return std::nullopt;
}

Work work_of_program(std::string file, std::vector<std::string> arguments) {
  return [file = std::move(file), arguments = std::move(arguments)](int output) {
    become(file, arguments, output);
  };
}

Result<std::unique_ptr<StartLine>> StartLine::create() {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0)
    return fail_errno(errno, "cannot create a pipe between child processes");
  return std::unique_ptr<StartLine>(new StartLine(pipe[0], pipe[1]));
}

StartLine::~StartLine() {
  step_aside();
  ::close(reader_);
}

void StartLine::step_aside() {
  if (writer_ >= 0) ::close(writer_);
  writer_ = -1;
}

void StartLine::wait(Duration most) {
  step_aside();
  // Nothing is written: the pipe closes when the last process has closed its end.
  pollfd line{.fd = reader_, .events = POLLIN, .revents = 0};
  const MonoTime end = std::chrono::steady_clock::now() + most;
  for (Duration left = most; left > Duration::zero(); left = end - std::chrono::steady_clock::now()) {
    const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    if (::poll(&line, 1, static_cast<int>(milliseconds)) >= 0 || errno != EINTR) return;
  }
}

namespace {

constexpr int kInternal = 70;
constexpr std::chrono::milliseconds kUntilKilledIsGone{20};

sigset_t ending_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT, SIGHUP})
    sigaddset(&signals, number);
  return signals;
}

[[noreturn]] void be_child(const Work& work, int output, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kInternal);
  // A write to a closed connection must return an error instead of ending the process.
  ::signal(SIGPIPE, SIG_IGN);
  const sigset_t signals = ending_signals();
  ::sigprocmask(SIG_UNBLOCK, &signals, nullptr);
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO}) {
    if (::dup2(nothing, stream) == stream) continue;
    // The output of the work would mix with the program's own output.
    std::perror("autopilot-net-probe: /dev/null");
    ::_exit(kInternal);
  }
  try {
    work(output);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "autopilot-net-probe: internal error: %s\n", error.what());
    ::_exit(kInternal);
  }
  ::_exit(0);
}

int milliseconds_until(MonoTime then, MonoTime now) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(then - now).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, std::numeric_limits<int>::max()));
}

}  // namespace

MonoTime mono_now() {
  return std::chrono::steady_clock::now();
}

Result<std::unique_ptr<Crew>> Crew::create() {
  const sigset_t signals = ending_signals();
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  const int descriptor = ::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  if (descriptor < 0) return fail_errno(errno, "signalfd");
  return std::unique_ptr<Crew>(new Crew(descriptor));
}

Crew::~Crew() {
  end_all();
  ::close(signals_);
}

Result<std::size_t> Crew::start(const Work& work, MonoTime deadline) {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0)
    return fail_errno(errno, "cannot create a pipe to a child process");
  // Otherwise the child inherits a copy of unwritten output.
  std::fflush(nullptr);
  const pid_t parent = ::getpid();
  const pid_t process = ::fork();
  if (process == 0) {
    ::close(pipe[0]);
    be_child(work, pipe[1], parent);
  }
  const int error = errno;
  ::close(pipe[1]);
  if (process < 0) {
    ::close(pipe[0]);
    return fail_errno(error, "cannot start a child process");
  }
  ::fcntl(pipe[0], F_SETFL, O_NONBLOCK);
  members_.push_back({.process = process, .pipe = pipe[0], .deadline = deadline, .output = {}, .end = {}});
  return members_.size() - 1;
}

Event Crew::wait(MonoTime until) {
  for (;;) {
    const MonoTime now = mono_now();
    if (const auto event = collect_killed()) return *event;
    const MonoTime next = kill_overdue(now, until);
    std::vector<pollfd> watched{{.fd = signals_, .events = POLLIN, .revents = 0}};
    std::vector<std::size_t> children;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (!is_running(i)) continue;
      watched.push_back({.fd = members_[i].pipe, .events = POLLIN, .revents = 0});
      children.push_back(i);
    }
    const int ready = ::poll(watched.data(), watched.size(), milliseconds_until(next, now));
    if (ready > 0) {
      if (watched[0].revents != 0)
        if (const auto event = read_signal()) return *event;
      for (std::size_t i = 0; i < children.size(); ++i)
        if (watched[i + 1].revents != 0)
          if (const auto event = read_from(children[i])) return *event;
    }
    if (mono_now() >= until) return {};
  }
}

bool Crew::is_anybody_running() const {
  return std::any_of(members_.begin(), members_.end(),
                     [](const Member& member) { return member.process > 0; });
}

void Crew::kill(std::size_t child) const {
  if (is_running(child)) ::kill(members_[child].process, SIGKILL);
}

void Crew::end_all() {
  for (const Member& member : members_)
    if (member.process > 0) ::kill(member.process, SIGKILL);
  for (Member& member : members_)
    if (member.process > 0) collect(member);
}

// Returns the time of the next check.
MonoTime Crew::kill_overdue(MonoTime now, MonoTime until) {
  for (Member& member : members_) {
    if (member.process <= 0) continue;
    if (!member.end.was_overdue && now >= member.deadline) {
      member.end.was_overdue = true;
      ::kill(member.process, SIGKILL);
    }
    until = std::min(until, is_killed(member) ? now + kUntilKilledIsGone : member.deadline);
  }
  return until;
}

// Its children can hold its pipe open: the end of the child itself is sufficient.
std::optional<Event> Crew::collect_killed() {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    Member& member = members_[i];
    siginfo_t ended{};
    if (member.process <= 0 || !is_killed(member)) continue;
    const auto process = static_cast<id_t>(member.process);
    if (::waitid(P_PID, process, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == 0) continue;
    collect(member);
    return Event{.kind = Event::Kind::ended, .child = i, .signal = 0};
  }
  return std::nullopt;
}

std::optional<Event> Crew::read_from(std::size_t child) {
  Member& member = members_[child];
  std::array<char, 65536> part{};
  const ssize_t size = ::read(member.pipe, part.data(), part.size());
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  if (size <= 0) {
    collect(member);
    return Event{.kind = Event::Kind::ended, .child = child, .signal = 0};
  }
  if (member.end.had_too_much_output) return std::nullopt;
  member.output.append(part.data(), static_cast<std::size_t>(size));
  if (member.output.size() > kMostOutputBytes) {
    member.end.had_too_much_output = true;
    member.output.clear();
    ::kill(member.process, SIGKILL);
    return std::nullopt;
  }
  return Event{.kind = Event::Kind::output, .child = child, .signal = 0};
}

std::optional<Event> Crew::read_signal() const {
  signalfd_siginfo arrived{};
  if (::read(signals_, &arrived, sizeof arrived) != sizeof arrived) return std::nullopt;
  return Event{.kind = Event::Kind::signal, .child = 0, .signal = static_cast<int>(arrived.ssi_signo)};
}

// The pipe is closed, but the process can still run.
void Crew::collect(Member& member) {
  ::kill(member.process, SIGKILL);
  int status = 0;
  while (::waitpid(member.process, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status))
    member.end.signal = WTERMSIG(status);
  else
    member.end.code = WEXITSTATUS(status);
  ::close(member.pipe);
  member.pipe = -1;
  member.process = 0;
}

}  // namespace autopilot::probes::net
