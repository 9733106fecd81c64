// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstddef>

#include "host/storage/nvme.hpp"

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

}  // namespace autopilot::host
