// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <cstring>

#include "portability/glibc.hpp"

namespace autopilot::portability {

const char* describe_signal(int number) noexcept {
  // Of these strsignal has constant texts; of others it makes one, in a place that threads share.
  if (number < 1 || number > SIGSYS) return nullptr;
  return ::strsignal(number);
}

}  // namespace autopilot::portability
