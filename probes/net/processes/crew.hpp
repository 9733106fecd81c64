// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"

namespace autopilot::probes::net {

// The work of a child process. It writes to `output` and returns; then its process exits with code 0.
using Work = std::function<void(int output)>;

// Limit of a child's output; a child that exceeds it is killed.
inline constexpr std::size_t kMostOutputBytes = 16U << 20U;

// How a child ended: by exit code or by signal; a killed child also has one of the first two flags.
struct ChildEnd {
  bool was_overdue = false;
  bool had_too_much_output = false;
  std::optional<int> code;
  std::optional<int> signal;
};

struct Event {
  enum class Kind : std::uint8_t {
    output,  // the child wrote output
    ended,   // the child has ended, and all its output was read
    signal,  // SIGTERM, SIGINT or SIGHUP arrived
    time,    // the time is over
  };
  Kind kind = Kind::time;
  std::size_t child = 0;
  int signal = 0;
};

// Child processes that are copies of this one. They stay in its process group, so that one kill reaches all,
// and the kernel kills them when the thread that created the crew ends. Effects of the work, including exit()
// and a crash, stay in the child. For programs with one thread.
class Crew {
 public:
  // Takes over SIGTERM, SIGINT and SIGHUP, which become events.
  [[nodiscard]] static Result<std::unique_ptr<Crew>> create();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;
  ~Crew();

  // Starts a child and returns its number; it is killed at its deadline. Its standard input and output are
  // /dev/null.
  [[nodiscard]] Result<std::size_t> start(const Work& work, MonoTime deadline);
  // The next event, or Event::time at `until`.
  [[nodiscard]] Event wait(MonoTime until);
  // All output of a child so far.
  [[nodiscard]] const std::string& output(std::size_t child) const { return members_[child].output; }
  // How a child ended.
  [[nodiscard]] const ChildEnd& end(std::size_t child) const { return members_[child].end; }
  [[nodiscard]] bool is_running(std::size_t child) const { return members_[child].process > 0; }
  [[nodiscard]] bool is_anybody_running() const;
  // Kills the child; an event follows.
  void kill(std::size_t child) const;
  // Kills all remaining children and waits for them.
  void end_all();

 private:
  struct Member {
    pid_t process = 0;  // 0: ended
    int pipe = -1;
    MonoTime deadline{};
    std::string output;
    ChildEnd end;
  };

  explicit Crew(int signals) : signals_(signals) {}
  // Killed by the crew, for one of the first two flags of ChildEnd.
  [[nodiscard]] static bool is_killed(const Member& member) {
    return member.end.was_overdue || member.end.had_too_much_output;
  }
  [[nodiscard]] std::optional<Event> collect_killed();
  [[nodiscard]] MonoTime kill_overdue(MonoTime now, MonoTime until);
  [[nodiscard]] std::optional<Event> read_from(std::size_t child);
  [[nodiscard]] std::optional<Event> read_signal() const;
  void collect(Member& member);

  int signals_;
  std::vector<Member> members_;
};

[[nodiscard]] MonoTime mono_now();

// Path of a program from PATH; nullopt if it is not found.
[[nodiscard]] std::optional<std::string> find_program(const std::string& name);

// The child runs the program; its output, including errors, is the child's output. The first argument is the
// program's name.
[[nodiscard]] Work work_of_program(std::string file, std::vector<std::string> arguments);

// Barrier of several processes. It is a pipe of which each process holds an end: a waiting process has closed
// its end, and so has a process that ended. For programs with one thread.
class StartLine {
 public:
  [[nodiscard]] static Result<std::unique_ptr<StartLine>> create();
  StartLine(const StartLine&) = delete;
  StartLine& operator=(const StartLine&) = delete;
  ~StartLine();

  // In the process that starts the others, after it has started the last one: it does not take part.
  void step_aside();
  // In each of the others: waits until all wait here or have ended, or for that time.
  void wait(Duration most);

 private:
  StartLine(int reader, int writer) : reader_(reader), writer_(writer) {}

  int reader_;
  int writer_;  // -1: closed
};

}  // namespace autopilot::probes::net
