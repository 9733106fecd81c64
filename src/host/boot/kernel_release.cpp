// SPDX-License-Identifier: Apache-2.0
#include "host/boot/kernel_release.hpp"

#include "core/parse.hpp"

namespace autopilot::host {

Result<std::string> read_kernel_release(const Files& files) {
  const std::string text = TRY(files.read("/proc/sys/kernel/osrelease", 256));
  return std::string(trim(text));
}

}  // namespace autopilot::host
