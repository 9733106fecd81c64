// SPDX-License-Identifier: Apache-2.0
#include <sys/syscall.h>
#include <unistd.h>

#include "portability/glibc.hpp"

namespace autopilot::portability {

ssize_t read_entries(int folder, void* buffer, std::size_t bytes) noexcept {
  return ::syscall(SYS_getdents64, folder, buffer, bytes);
}

}  // namespace autopilot::portability
