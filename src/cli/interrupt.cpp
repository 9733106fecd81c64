// SPDX-License-Identifier: Apache-2.0
#include "cli/interrupt.hpp"

#include <array>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "core/result.hpp"

namespace autopilot::cli {
namespace {

std::atomic<bool> interrupted{false};
std::array<int, 2> wake_pipe{-1, -1};
struct sigaction old_interrupt {};
struct sigaction old_terminate {};

void on_signal(int /*signal*/) {
  interrupted = true;
  // A full pipe is harmless: one byte is enough to wake the reader.
  const char byte = 0;
  [[maybe_unused]] const auto written = ::write(wake_pipe[1], &byte, 1);
}

}  // namespace

Interrupt::Interrupt() {
  interrupted = false;
  AUTOPILOT_ASSERT(::pipe2(wake_pipe.data(), O_CLOEXEC | O_NONBLOCK) == 0);
  struct sigaction action {};
  action.sa_handler = on_signal;
  ::sigaction(SIGINT, &action, &old_interrupt);
  ::sigaction(SIGTERM, &action, &old_terminate);
}

Interrupt::~Interrupt() {
  ::sigaction(SIGINT, &old_interrupt, nullptr);
  ::sigaction(SIGTERM, &old_terminate, nullptr);
  for (int& fd : wake_pipe) {
    ::close(fd);
    fd = -1;
  }
}

bool Interrupt::requested() const {
  return interrupted;
}

void Interrupt::wait(Duration at_most) const {
  wait_for_input(at_most, -1);  // poll ignores it
}

void Interrupt::wait_for_input(Duration at_most, int descriptor) const {
  std::array<pollfd, 2> polled{{{wake_pipe[0], POLLIN, 0}, {descriptor, POLLIN, 0}}};
  ::poll(polled.data(), polled.size(),
         static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(at_most).count()));
  std::array<char, 64> bytes;
  [[maybe_unused]] const auto count = ::read(wake_pipe[0], bytes.data(), bytes.size());
}

bool Interrupt::wait_readable(int descriptor) const {
  std::array<pollfd, 2> wanted{pollfd{descriptor, POLLIN, 0}, pollfd{wake_pipe[0], POLLIN, 0}};
  while (!requested())
    if (::poll(wanted.data(), wanted.size(), -1) > 0 && wanted[0].revents != 0) return !requested();
  return false;
}

const std::atomic<bool>& Interrupt::flag() const {
  return interrupted;
}

}  // namespace autopilot::cli
