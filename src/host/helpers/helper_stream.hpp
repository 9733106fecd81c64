// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <sys/types.h>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/files/fd.hpp"
#include "host/helpers/frame.hpp"

namespace autopilot::host {

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

}  // namespace autopilot::host
