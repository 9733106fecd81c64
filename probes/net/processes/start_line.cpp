// SPDX-License-Identifier: Apache-2.0
#include "probes/net/processes/start_line.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace autopilot::probes::net {

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

}  // namespace autopilot::probes::net
