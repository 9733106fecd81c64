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

// What a child process does. It writes to `output` and returns; then its process ends with code 0.
using Work = std::function<void(int output)>;

// The most that one child may say; one that says more is killed.
inline constexpr std::size_t kMostOutputBytes = 16U << 20U;

// How a child ended: with a code or by a signal; the latter too where it was killed for one of the first two.
struct ChildEnd {
  bool was_overdue = false;
  bool said_too_much = false;
  std::optional<int> code;
  std::optional<int> signal;
};

struct Event {
  enum class Kind : std::uint8_t {
    said,    // the child wrote something
    ended,   // the child is gone, and has said everything
    signal,  // SIGTERM, SIGINT or SIGHUP came for this process
    time,    // the time is over
  };
  Kind kind = Kind::time;
  std::size_t child = 0;
  int signal = 0;
};

// Child processes that are copies of this one. They stay in its process group, so that one kill reaches all,
// and the kernel kills them when the thread that made the crew ends. What is done in one of them, exit() and
// a crash among it, stays there. For programs with one thread.
class Crew {
 public:
  // From now on SIGTERM, SIGINT and SIGHUP come as events.
  [[nodiscard]] static Result<std::unique_ptr<Crew>> create();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;
  ~Crew();

  // The number of a new child, which is killed at its deadline. In the child standard input and output are
  // nothing.
  [[nodiscard]] Result<std::size_t> start(const Work& work, MonoTime deadline);
  // The next that happens, or that nothing did until then.
  [[nodiscard]] Event wait(MonoTime until);
  // Everything that a child has said so far.
  [[nodiscard]] const std::string& output(std::size_t child) const { return members_[child].output; }
  // Of a child that ended.
  [[nodiscard]] const ChildEnd& end(std::size_t child) const { return members_[child].end; }
  [[nodiscard]] bool is_running(std::size_t child) const { return members_[child].process > 0; }
  [[nodiscard]] bool is_anybody_running() const;
  // It ends, and an event will say so.
  void kill(std::size_t child) const;
  // Kills whoever is left, and waits for them.
  void end_all();

 private:
  struct Member {
    pid_t process = 0;  // none: it ended
    int pipe = -1;
    MonoTime deadline{};
    std::string output;
    ChildEnd end;
  };

  explicit Crew(int signals) : signals_(signals) {}
  // By us, for one of the first two of ChildEnd.
  [[nodiscard]] static bool is_killed(const Member& member) {
    return member.end.was_overdue || member.end.said_too_much;
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

}  // namespace autopilot::probes::net
