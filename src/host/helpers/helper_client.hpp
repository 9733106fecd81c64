// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "host/helpers/helper_stream.hpp"
#include "host/helpers/helper_words.hpp"
#include "host/process/child.hpp"

namespace autopilot::host {

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
