// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>
#include <span>
#include <unistd.h>
#include <utility>

#include "core/clock.hpp"

namespace autopilot::host {

// Owns a file descriptor. Closing a negative one is nothing.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] explicit operator bool() const { return fd_ >= 0; }
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }
  void reset() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

// CLOCK_MONOTONIC, for the deadlines of blocking calls in this folder.
[[nodiscard]] MonoTime mono_now();

// poll(2) until something is ready (true) or the deadline has passed (false). Descriptors below 0 are
// skipped.
[[nodiscard]] bool poll_until(std::span<pollfd> descriptors, MonoTime deadline);
// The same for one descriptor.
[[nodiscard]] bool poll_until(int fd, short events, MonoTime deadline);

}  // namespace autopilot::host
