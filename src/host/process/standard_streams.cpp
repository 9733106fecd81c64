// SPDX-License-Identifier: Apache-2.0
#include "host/process/standard_streams.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace autopilot::host {

void keep_standard_streams_taken() {
  for (;;) {
    const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && fd <= STDERR_FILENO) continue;
    if (fd >= 0) ::close(fd);
    return;
  }
}

}  // namespace autopilot::host
