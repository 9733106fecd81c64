// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <utility>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/files/fd.hpp"
#include "host/helpers/message.hpp"
#include "host/process/child.hpp"

namespace autopilot::host {

// Splits the standard error of a helper into lines for the agent's log, with limits: the driver's library may
// write there endlessly.
class StderrLines {
 public:
  static constexpr std::size_t kMaxLine = 1000;  // bytes; the rest of the line is left out
  static constexpr std::size_t kMaxLines = 50;   // in kWindow; then one line reports that more are left out
  static constexpr Duration kWindow = std::chrono::minutes{1};

  // The complete lines in `bytes`, within the limits at `now`.
  [[nodiscard]] std::vector<std::string> take(std::string_view bytes, MonoTime now);
  // The last line of a process that ended without a newline.
  [[nodiscard]] std::vector<std::string> finish(MonoTime now);

 private:
  void end_line(MonoTime now, std::vector<std::string>& lines);

  std::string line_;
  std::size_t lines_ = 0;
  MonoTime window_begin_{};
};

// Why there is no result. Each value means something different for the device that the helper reads.
enum class HelperFailure : std::uint8_t {
  refused,      // the helper works and answered with an error of its own
  timed_out,    // no answer at the deadline, or the whole time went into waiting for another caller's answer
  crashed,      // it died before it answered, or died too often and is not restarted yet
  malformed,    // it sent something other than an answer
  exhausted,    // too many helpers hang in the kernel; no request was sent
  not_started,  // the program cannot be started
};

[[nodiscard]] std::string_view to_string(HelperFailure failure);

struct HelperError {
  HelperFailure failure = HelperFailure::refused;
  Error error;  // for refused: the helper's own; otherwise timed_out, unavailable, malformed, exhausted
  pid_t stuck_pid = -1;  // set if the helper could not be killed; see HelperClient::is_stuck
};

// The error to report for the device, mount or service behind the helper: errors of the helper's own and
// timeouts are kept; internal means that the helper itself failed.
[[nodiscard]] Error error_of_subject(HelperError error);

// JSON text.
using HelperResult = tl::expected<std::string, HelperError>;

// The agent's end of one connection to a helper. One request at a time, by one thread. After a failure other
// than refused the stream is unusable.
class HelperStream {
 public:
  // `name`: prefix of every error text. Once `wake` is readable, every exchange ends at once with timed_out,
  // also one in progress; the caller owns `wake`, and a negative number disables it.
  HelperStream(std::string name, Fd socket, int wake = -1)
      : name_(std::move(name)), socket_(std::move(socket)), wake_(wake) {}

  // params: JSON text. crashed: the helper closed the connection.
  [[nodiscard]] HelperResult exchange(std::string_view method, std::string_view params, MonoTime deadline);
  // The descriptor that came with the last answer; empty: none did.
  [[nodiscard]] Fd take_descriptor() { return std::exchange(descriptor_, Fd()); }
  void close() { socket_.reset(); }

 private:
  enum class Wait : std::uint8_t { ready, late, woken };

  [[nodiscard]] Wait wait(short events, MonoTime deadline) const;
  [[nodiscard]] tl::expected<void, HelperError> send(std::string_view frame, MonoTime deadline);
  [[nodiscard]] HelperResult receive(std::uint64_t id, MonoTime deadline);
  // As recv(2); keeps a descriptor that comes with the bytes.
  [[nodiscard]] ssize_t receive_bytes(std::span<char> buffer);
  [[nodiscard]] HelperError failure(HelperFailure kind, Errc code, const std::string& what) const;
  [[nodiscard]] HelperError late(Wait wait, const std::string& what) const;

  std::string name_;
  Fd socket_;
  int wake_;
  FrameReader reader_;
  Fd descriptor_;
  std::uint64_t next_id_ = 1;
};

struct HelperStats {
  bool is_alive = false;
  int stuck = 0;  // killed, but still in the kernel
  std::uint64_t starts = 0;
  std::uint64_t calls = 0;
  std::uint64_t failures = 0;  // calls that were neither answered nor refused
};

struct HelperLimits {
  int max_stuck = 2;
  Duration kill_patience = std::chrono::milliseconds{500};  // how long a killed helper may take to end
  // Delay before a restart from the second consecutive crash on; doubles each time.
  Duration first_backoff = std::chrono::seconds{1};
  Duration last_backoff = std::chrono::minutes{1};
};

// One helper process of a kind: started by the first call, kept, killed after a late or malformed answer, and
// restarted by the next call. One request at a time; other callers wait within their deadline. Its standard
// error is logged at the end of a call, within the limits of StderrLines. Thread-safe. A call returns by its
// deadline plus the kill patience.
class HelperClient {
 public:
  // `command` is the whole command line; the helper finds the socket as descriptor 3.
  explicit HelperClient(std::string kind, Command command, HelperLimits limits = {});
  HelperClient(const HelperClient&) = delete;
  HelperClient& operator=(const HelperClient&) = delete;
  // Closes the socket, which ends the helper. A helper that does not end is killed; one stuck in the kernel
  // is abandoned.
  ~HelperClient();

  // params: JSON text.
  [[nodiscard]] HelperResult call(std::string_view method, std::string_view params, MonoTime deadline);
  // Ends an idle helper to free its memory. The next call starts another.
  void rest();
  [[nodiscard]] HelperStats stats();
  // True until the process HelperError::stuck_pid has ended.
  [[nodiscard]] bool is_stuck(pid_t pid);
  [[nodiscard]] const std::string& kind() const { return kind_; }

 private:
  struct Connection {
    Child child;
    HelperStream stream;
    Fd errors;  // its standard error
  };

  [[nodiscard]] tl::expected<void, HelperError> make_ready();
  [[nodiscard]] HelperError death();
  void log_stderr(bool is_over);
  [[nodiscard]] HelperError failure(HelperFailure kind, Errc code, const std::string& what) const;
  [[nodiscard]] pid_t retire();
  void note(const HelperResult& result);
  void count_stuck();

  const std::string kind_;
  const Command command_;
  const HelperLimits limits_;

  std::mutex mutex_;  // guards all members below; not held during an exchange
  std::condition_variable free_;
  bool is_busy_ = false;    // only the busy caller uses connection_
  bool is_silent_ = false;  // the last request timed out
  std::unique_ptr<Connection> connection_;
  StderrLines stderr_lines_;  // used only by the busy caller
  std::vector<Child> stuck_;
  int crashes_ = 0;  // consecutive
  MonoTime not_before_{};
  HelperStats stats_;
};

// `<this program> helper <kind> [arguments]` with the environment of this process; `extra_environment` takes
// precedence.
[[nodiscard]] Command helper_command(const std::string& kind, const std::vector<std::string>& arguments = {},
                                     const std::vector<std::string>& extra_environment = {});

}  // namespace autopilot::host
