// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <cstring>

#include "portability/glibc.hpp"

namespace autopilot::portability {

const char* describe_signal(int number) noexcept {
  // For these signals strsignal returns constant texts; for others it writes into a shared buffer.
  if (number < 1 || number > SIGSYS) return nullptr;
  return ::strsignal(number);
}

}  // namespace autopilot::portability
