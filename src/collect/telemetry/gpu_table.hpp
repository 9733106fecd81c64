// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "collect/telemetry/growth.hpp"
#include "core/clock.hpp"
#include "host/gpu/telemetry.hpp"
#include "jobs/records.hpp"

namespace autopilot::collect {

// The GPU columns of one window, from samples that arrive once a second. A GPU that does not answer has no
// values; an answer that is missing as a whole leaves its second unknown. For one thread.
class GpuTable {
 public:
  static constexpr std::int64_t kSeconds = 10;  // of a window, which begins at a multiple of them

  // `second`: whole seconds since the epoch in which the sample was taken.
  void add(std::int64_t second, const host::GpuTelemetry& telemetry);
  // Appends the keys, the columns of gauges and shares, and fast power of each group for the `seconds` from
  // `first` on; groups without a value are left out. The next sample belongs to the next window.
  void close(std::span<const std::vector<int>> groups, std::int64_t first, std::int64_t seconds,
             jobs::WindowRecord& window);
  // Nothing remains of the samples.
  void drop() { rows_.clear(); }

 private:
  struct Row {
    std::array<Mean, kSeconds> power_of_second;
    Mean power_w, sm_clock_mhz, util, temperature_c, memory_temperature_c, memory_bytes;
    // Without load a link lowers its generation and width.
    Mean pcie_generation_under_load, pcie_width_under_load;
    // Shares of the seconds in which the reasons were read.
    Mean power_cap, thermal, hardware, brake;

    void add(std::int64_t second, const host::GpuSample& sample);
    void add_reasons(double reasons);
  };

  void append_fast(std::span<const std::vector<int>> groups, std::int64_t first, std::int64_t seconds,
                   jobs::WindowRecord& window) const;

  std::map<int, Row> rows_;
};

// The counters of GPUs at the edge of two windows.
class GpuCounters {
 public:
  // Takes a detailed sample; appends the growth since the sample before, for the GPUs in `window.gpus`. NaN:
  // there is no sample before, the driver did not count, or the counter was reset.
  void advance(const host::GpuTelemetry& telemetry, MonoTime time, jobs::WindowRecord& window);
  // Without a window: the sample is only the base of the next growth.
  void start(const host::GpuTelemetry& telemetry, MonoTime time);
  void forget() { before_.clear(); }

 private:
  struct Reading {
    host::GpuSample sample;
    MonoTime time{};
  };
  std::map<int, Reading> before_;
};

}  // namespace autopilot::collect
