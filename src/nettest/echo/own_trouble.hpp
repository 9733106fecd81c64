// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>

namespace autopilot::nettest {

// Of a packet or a connection that could not be sent: this machine has run out of something, or forbids it.
// That says nothing about the other one.
[[nodiscard]] constexpr bool is_own_trouble(int error) {
  switch (error) {
    case EAGAIN:
    case ENOBUFS:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
    case EPERM:
    case EACCES:
    case EADDRNOTAVAIL:
      return true;
    default:
      return false;
  }
}

}  // namespace autopilot::nettest
