// SPDX-License-Identifier: Apache-2.0
#include "host/storage/nvme_ioctl.hpp"

#include <cerrno>
#include <fcntl.h>
#include <linux/nvme_ioctl.h>
#include <sys/ioctl.h>

#include "host/files/fd.hpp"

namespace autopilot::host {
namespace {

constexpr std::uint8_t kGetLogPage = 0x02;
constexpr std::uint32_t kHealthLog = 0x02;
constexpr std::uint32_t kAllNamespaces = 0xffffffff;
constexpr std::size_t kReadPageBytes = 512;
constexpr std::uint32_t kTimeoutMs = 5000;

}  // namespace

Result<std::string> read_nvme_health_page(const std::string& controller) {
  const std::string path = "/dev/" + controller;
  const Fd device(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!device) return fail_errno(errno, path);
  std::string page(kReadPageBytes, '\0');
  nvme_admin_cmd command{};
  command.opcode = kGetLogPage;
  command.nsid = kAllNamespaces;
  command.addr = reinterpret_cast<std::uintptr_t>(page.data());
  command.data_len = kReadPageBytes;
  command.cdw10 = kHealthLog | ((kReadPageBytes / 4 - 1) << 16);
  command.timeout_ms = kTimeoutMs;
  const int status = ::ioctl(device.get(), NVME_IOCTL_ADMIN_CMD, &command);
  if (status < 0) return fail_errno(errno, path + ": get log page 02h");
  if (status > 0)
    return fail(Errc::unavailable,
                path + ": get log page 02h: the controller answers status " + std::to_string(status));
  return page;
}

}  // namespace autopilot::host
