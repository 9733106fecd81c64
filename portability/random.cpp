// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstdlib>
#include <sys/random.h>

#include "portability/glibc.hpp"

namespace autopilot::portability {

unsigned int random_word() noexcept {
  unsigned int word = 0;
  // The kernel returns so few bytes completely or fails.
  while (::getrandom(&word, sizeof word, 0) != sizeof word)
    if (errno != EINTR) std::abort();
  return word;
}

}  // namespace autopilot::portability
