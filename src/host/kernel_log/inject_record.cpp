// SPDX-License-Identifier: Apache-2.0
#include "host/kernel_log/inject_record.hpp"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

#include "host/files/fd.hpp"
#include "host/kernel_log/kmsg_record.hpp"

namespace autopilot::host {

Status inject_kernel_record(const std::string& text) {
  const Fd device(::open("/dev/kmsg", O_WRONLY | O_CLOEXEC));
  if (device.get() < 0) return fail_errno(errno, "/dev/kmsg");
  // One write is one record. Without the end of the line the kernel waits for more and shows it to nobody.
  const std::string record = std::string(kInjectedPrefix) + text + "\n";
  if (::write(device.get(), record.data(), record.size()) < 0) return fail_errno(errno, "/dev/kmsg");
  return {};
}

}  // namespace autopilot::host
