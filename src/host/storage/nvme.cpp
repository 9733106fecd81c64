// SPDX-License-Identifier: Apache-2.0
#include "host/storage/nvme.hpp"

#include <cerrno>
#include <cmath>
#include <cstddef>
#include <fcntl.h>
#include <linux/nvme_ioctl.h>
#include <sys/ioctl.h>

#include "core/parse.hpp"
#include "host/files/fd.hpp"

namespace autopilot::host {
namespace {

// Byte offsets in log page 02h (NVM Express Base Specification, "SMART / Health Information").
constexpr std::size_t kHealthPageBytes = 512;
constexpr std::size_t kCriticalWarning = 0;
constexpr std::size_t kTemperature = 1;  // two bytes, kelvin
constexpr std::size_t kAvailableSpare = 3;
constexpr std::size_t kSpareThreshold = 4;
constexpr std::size_t kPercentageUsed = 5;
constexpr std::size_t kPowerOnHours = 128;
constexpr std::size_t kUnsafeShutdowns = 144;
constexpr std::size_t kMediaErrors = 160;
constexpr std::size_t kErrorLogEntries = 176;
constexpr int kKelvinAtZeroCelsius = 273;

std::uint8_t byte_at(std::string_view page, std::size_t offset) {
  return static_cast<std::uint8_t>(page[offset]);
}

// Counters have 128 bits, little-endian; what a double cannot hold exactly does not matter here.
double counter_at(std::string_view page, std::size_t offset) {
  double value = 0;
  for (std::size_t i = 16; i-- > 0;)
    value = value * 256 + byte_at(page, offset + i);
  return value;
}

}  // namespace

Result<NvmeHealth> parse_nvme_health(std::string_view page) {
  if (page.size() < kHealthPageBytes)
    return fail(Errc::malformed, "NVMe health log page: " + std::to_string(page.size()) + " bytes, not 512");
  const int kelvin = byte_at(page, kTemperature) + 256 * byte_at(page, kTemperature + 1);
  // Some controllers answer with an empty page instead of an error; no real one is at 0 K.
  if (kelvin == 0) return fail(Errc::malformed, "NVMe health log page: empty");
  return NvmeHealth{.critical_warning = byte_at(page, kCriticalWarning),
                    .temperature_celsius = kelvin - kKelvinAtZeroCelsius,
                    .available_spare_percent = byte_at(page, kAvailableSpare),
                    .spare_threshold_percent = byte_at(page, kSpareThreshold),
                    .percentage_used = byte_at(page, kPercentageUsed),
                    .media_errors = counter_at(page, kMediaErrors),
                    .error_log_entries = counter_at(page, kErrorLogEntries),
                    .unsafe_shutdowns = counter_at(page, kUnsafeShutdowns),
                    .power_on_hours = counter_at(page, kPowerOnHours)};
}

namespace {

constexpr std::string_view kClass = "/sys/class/nvme";

}  // namespace

bool is_nvme_controller(std::string_view name) {
  return name.starts_with("nvme") && parse_number<unsigned>(name.substr(4)).has_value();
}

Result<std::vector<NvmeController>> read_nvme_controllers(const Files& files) {
  std::vector<NvmeController> controllers;
  const auto names = files.list(kClass);
  if (!names) {
    if (names.error().code != Errc::not_found) return fail(names.error());
    if (files.exists("/sys/class")) return controllers;
    return fail(Errc::unavailable, std::string(kClass) + ": no sysfs");
  }
  for (const std::string& name : *names) {
    if (!is_nvme_controller(name)) continue;
    const auto word = [&](std::string_view attribute) {
      return files.read_word(std::string(kClass) + "/" + name + "/" + std::string(attribute)).value_or("");
    };
    controllers.push_back({.name = name,
                           .state = word("state"),
                           .model = word("model"),
                           .serial = word("serial"),
                           .firmware = word("firmware_rev")});
  }
  return controllers;
}

namespace {

constexpr std::uint8_t kGetLogPage = 0x02;
constexpr std::uint32_t kHealthLog = 0x02;
constexpr std::uint32_t kAllNamespaces = 0xffffffff;
constexpr std::uint32_t kTimeoutMs = 5000;

}  // namespace

Result<std::string> read_nvme_health_page(const std::string& controller) {
  const std::string path = "/dev/" + controller;
  const Fd device(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!device) return fail_errno(errno, path);
  std::string page(kHealthPageBytes, '\0');
  nvme_admin_cmd command{};
  command.opcode = kGetLogPage;
  command.nsid = kAllNamespaces;
  command.addr = reinterpret_cast<std::uintptr_t>(page.data());
  command.data_len = kHealthPageBytes;
  command.cdw10 = kHealthLog | ((kHealthPageBytes / 4 - 1) << 16);
  command.timeout_ms = kTimeoutMs;
  const int status = ::ioctl(device.get(), NVME_IOCTL_ADMIN_CMD, &command);
  if (status < 0) return fail_errno(errno, path + ": get log page 02h");
  if (status > 0)
    return fail(Errc::unavailable,
                path + ": get log page 02h: the controller answers status " + std::to_string(status));
  return page;
}

}  // namespace autopilot::host
