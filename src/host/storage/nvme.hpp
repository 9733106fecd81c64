// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/files/files.hpp"

namespace autopilot::host {

// The SMART / health log page (02h) of one controller.
struct NvmeHealth {
  std::uint8_t critical_warning =
      0;  // bit 0 spare, 1 temperature, 2 reliability, 3 read-only, 4 backup, 5 PMR
  int temperature_celsius = 0;
  int available_spare_percent = 0;
  int spare_threshold_percent = 0;
  int percentage_used = 0;
  double media_errors = 0;
  double error_log_entries = 0;
  double unsafe_shutdowns = 0;
  double power_on_hours = 0;
};

struct NvmeController {
  std::string name;   // "nvme0"
  std::string state;  // "live", "resetting", "connecting", "deleting", "dead"; empty: could not be read
  std::string model;
  std::string serial;
  std::string firmware;
};

class NvmeDevices {
 public:
  NvmeDevices() = default;
  NvmeDevices(const NvmeDevices&) = delete;
  NvmeDevices& operator=(const NvmeDevices&) = delete;
  virtual ~NvmeDevices() = default;
  // Empty without the driver; unavailable: there is no sysfs to ask.
  [[nodiscard]] virtual Result<std::vector<NvmeController>> controllers() const = 0;
  // Asked in a helper. denied: CAP_SYS_ADMIN is missing; not_found: the device file is; timed_out: the
  // controller does not answer; exhausted: no helper is left to ask; internal: the helper failed.
  // Thread-safe.
  [[nodiscard]] virtual Result<NvmeHealth> health(const std::string& controller, MonoTime deadline) const = 0;
};

// 512 bytes of log page 02h; shorter is malformed.
[[nodiscard]] Result<NvmeHealth> parse_nvme_health(std::string_view page);

// "nvme0": the name of a controller, not of a namespace (nvme0n1) or a path (nvme0c0n1).
[[nodiscard]] bool is_nvme_controller(std::string_view name);

// Controllers of /sys/class/nvme in order of name; none where the kernel has no NVMe. An attribute that the
// kernel does not give is an empty word.
[[nodiscard]] Result<std::vector<NvmeController>> read_nvme_controllers(const Files& files);

// The 512 bytes of log page 02h from /dev/<controller>. Blocks as long as the controller does. denied: no
// CAP_SYS_ADMIN; not_found: no device file here.
[[nodiscard]] Result<std::string> read_nvme_health_page(const std::string& controller);

}  // namespace autopilot::host
