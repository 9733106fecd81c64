// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "host/gpu/gpus.hpp"

namespace autopilot::host {

// What telemetry reads of a GPU while a job runs. Counters grow while the driver is loaded; their growth is
// the caller's to compute.
enum class GpuMeasure : std::uint8_t {
  power_w,
  sm_clock_mhz,
  utilization,     // 0..1
  clocks_reasons,  // bits of clocks_reason, host/gpu/readings.hpp
  temperature_c,
  // From here on only in a detailed sample.
  memory_temperature_c,
  memory_used_bytes,
  pcie_generation,
  pcie_width,
  pcie_replays,     // counter
  pcie_bytes,       // counter, both directions
  nvlink_bytes,     // counter, all links, both directions
  nvlink_errors,    // counter, all links: replays, recoveries, CRC errors
  ecc_corrected,    // counter
  ecc_uncorrected,  // counter
};
inline constexpr std::size_t kGpuMeasures = 15;

[[nodiscard]] std::string_view to_string(GpuMeasure measure);

struct GpuSample {
  GpuSample() { values.fill(std::numeric_limits<double>::quiet_NaN()); }

  [[nodiscard]] double operator[](GpuMeasure measure) const {
    return values[static_cast<std::size_t>(measure)];
  }
  double& operator[](GpuMeasure measure) { return values[static_cast<std::size_t>(measure)]; }

  int index = 0;        // of the driver
  std::string address;  // PCI address
  std::string model;    // product
  GpuState state = GpuState::ok;
  std::array<double, kGpuMeasures> values;  // NaN: not measured
};

struct GpuTelemetry {
  static constexpr std::size_t kMaxGpus = 64;

  DriverState state = DriverState::ok;  // other than ok: `gpus` is empty
  std::string detail;
  std::vector<GpuSample> gpus;
  std::uint64_t calls = 0;  // of the driver's library
};

// The telemetry in a report with the groups telemetry_groups(). A GPU without an index below
// GpuTelemetry::kMaxGpus is left out.
[[nodiscard]] GpuTelemetry telemetry_of(const GpuReport& report);
[[nodiscard]] std::vector<GpuGroup> telemetry_groups(TelemetryDetail detail);

// Request and answer between agent and helper, of one release or of two that follow each other: unknown
// members and measures are ignored, missing ones are not measured.
[[nodiscard]] std::string format_telemetry_request(TelemetryDetail detail);
[[nodiscard]] Result<TelemetryDetail> parse_telemetry_request(std::string_view text);
[[nodiscard]] std::string format_gpu_telemetry(const GpuTelemetry& telemetry);
// malformed: not such an answer, more than GpuTelemetry::kMaxGpus GPUs, or an index twice.
[[nodiscard]] Result<GpuTelemetry> parse_gpu_telemetry(std::string_view text);

}  // namespace autopilot::host
