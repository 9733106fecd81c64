// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/files/fd.hpp"
#include "host/helpers/message.hpp"
#include "host/process/child.hpp"

namespace autopilot::host {

// Splits the standard error of a helper into lines for the agent's log. The driver's library writes there
// too, without a limit.
class HelperWords {
 public:
  static constexpr std::size_t kMaxLine = 1000;  // bytes; the rest of the line is left out
  static constexpr std::size_t kMaxLines = 50;   // in kWindow; then one line reports that more are left out
  static constexpr Duration kWindow = std::chrono::minutes{1};

  // Whole lines of what was written, as many as are allowed at `now`.
  [[nodiscard]] std::vector<std::string> take(std::string_view bytes, MonoTime now);
  // The last line of a process that has ended without a line's end.
  [[nodiscard]] std::vector<std::string> finish(MonoTime now);

 private:
  void end_line(MonoTime now, std::vector<std::string>& lines);

  std::string line_;
  std::size_t lines_ = 0;
  MonoTime window_begin_{};
};

// Why there is no result. Each is a different truth about what the helper asks for us.
enum class HelperFailure : std::uint8_t {
  refused,      // the helper works and answered with an error of its own
  timed_out,    // no answer at the deadline, or the whole time went into waiting for another caller's answer
  crashed,      // it died before it answered, or died too often and is not started again yet
  malformed,    // it answered something that is no answer
  exhausted,    // as many as are allowed hang in the kernel already; nobody is asked
  not_started,  // the program cannot be started
};

[[nodiscard]] std::string_view to_string(HelperFailure failure);

struct HelperError {
  HelperFailure failure = HelperFailure::refused;
  Error error;  // for refused the helper's own; otherwise timed_out, unavailable, malformed, exhausted
  pid_t stuck_pid = -1;  // set when the helper that was asked could not be killed; see HelperClient::is_stuck
};

// The error for whoever asked about a device, a mount or a service: what the helper was refused and the time
// that ran out are about that; internal means that the helper failed and nothing is known.
[[nodiscard]] Error error_of_subject(HelperError error);

// JSON text.
using HelperResult = tl::expected<std::string, HelperError>;

// The agent's end of one connection to a helper. One question at a time, by one thread. After a failure other
// than refused the stream is useless.
class HelperStream {
 public:
  // `name` begins every error's text. Once `wake` is readable (it stays the caller's; below 0: none), every
  // exchange ends at once with timed_out, also one that waits.
  HelperStream(std::string name, Fd socket, int wake = -1)
      : name_(std::move(name)), socket_(std::move(socket)), wake_(wake) {}

  // params: JSON text. crashed: the other end closed.
  [[nodiscard]] HelperResult exchange(std::string_view method, std::string_view params, MonoTime deadline);
  void close() { socket_.reset(); }

 private:
  enum class Wait : std::uint8_t { ready, late, woken };

  [[nodiscard]] Wait wait(short events, MonoTime deadline) const;
  [[nodiscard]] tl::expected<void, HelperError> send(std::string_view frame, MonoTime deadline);
  [[nodiscard]] HelperResult receive(std::uint64_t id, MonoTime deadline);
  [[nodiscard]] HelperError failure(HelperFailure kind, Errc code, const std::string& what) const;
  [[nodiscard]] HelperError late(Wait wait, const std::string& what) const;

  std::string name_;
  Fd socket_;
  int wake_;
  FrameReader reader_;
  std::uint64_t next_id_ = 1;
};

struct HelperStats {
  bool is_alive = false;
  int stuck = 0;  // killed, but still in the kernel
  std::uint64_t starts = 0;
  std::uint64_t calls = 0;
  std::uint64_t failures = 0;  // calls that ended otherwise than answered or refused
};

struct HelperLimits {
  int max_stuck = 2;
  Duration kill_patience = std::chrono::milliseconds{500};  // how long a killed one may take to end
  // From the second crash in a row on it is not started again before this has passed; doubles each time.
  Duration first_backoff = std::chrono::seconds{1};
  Duration last_backoff = std::chrono::minutes{1};
};

// One helper process of a kind: started at the first call, kept, killed when it does not answer in time or
// not rightly, started again by the next call. One question at a time; other callers wait within their
// deadline. What it writes to standard error is logged at the end of a call, within the limits of
// HelperWords. Thread-safe. A call returns at its deadline plus at most the kill patience.
class HelperClient {
 public:
  // `command` is the whole command line; the helper finds the socket as descriptor 3.
  explicit HelperClient(std::string kind, Command command, HelperLimits limits = {});
  HelperClient(const HelperClient&) = delete;
  HelperClient& operator=(const HelperClient&) = delete;
  // Closes the socket, which ends the helper; one that does not end is killed, one that cannot be killed
  // left.
  ~HelperClient();

  // params: JSON text.
  [[nodiscard]] HelperResult call(std::string_view method, std::string_view params, MonoTime deadline);
  // Ends a helper that nobody is asking: it takes memory. The next call starts another.
  void rest();
  [[nodiscard]] HelperStats stats();
  // True until the process that HelperError::stuck_pid named has ended.
  [[nodiscard]] bool is_stuck(pid_t pid);
  [[nodiscard]] const std::string& kind() const { return kind_; }

 private:
  struct Connection {
    Child child;
    HelperStream stream;
    Fd words;  // what it writes to standard error
  };

  [[nodiscard]] tl::expected<void, HelperError> make_ready();
  [[nodiscard]] HelperError death();
  void log_words(bool is_over);
  [[nodiscard]] HelperError failure(HelperFailure kind, Errc code, const std::string& what) const;
  [[nodiscard]] pid_t retire();
  void note(const HelperResult& result);
  void count_stuck();

  const std::string kind_;
  const Command command_;
  const HelperLimits limits_;

  std::mutex mutex_;  // of all below; never held while the helper is asked
  std::condition_variable free_;
  bool is_busy_ = false;    // the busy caller alone uses connection_
  bool is_silent_ = false;  // the last question got no answer in time
  std::unique_ptr<Connection> connection_;
  HelperWords words_;  // the busy caller's too
  std::vector<Child> stuck_;
  int crashes_ = 0;  // in a row
  MonoTime not_before_{};
  HelperStats stats_;
};

// `<this program> helper <kind> [arguments]` with the environment of this process and `extra` on top.
[[nodiscard]] Command helper_command(const std::string& kind, const std::vector<std::string>& arguments = {},
                                     const std::vector<std::string>& extra_environment = {});

}  // namespace autopilot::host
