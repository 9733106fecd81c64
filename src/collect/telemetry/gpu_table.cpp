// SPDX-License-Identifier: Apache-2.0
#include "collect/telemetry/gpu_table.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "host/gpu/readings.hpp"

namespace autopilot::collect {
namespace {

using host::GpuMeasure;
using jobs::Metric;

}  // namespace

void GpuTable::Row::add_reasons(double reasons) {
  if (std::isnan(reasons)) return;
  const auto bits = static_cast<std::uint64_t>(reasons);
  namespace reason = host::clocks_reason;
  const bool is_thermal = (bits & (reason::kSwThermal | reason::kHwThermal)) != 0;
  const bool is_brake = (bits & reason::kHwPowerBrake) != 0;
  power_cap.add((bits & reason::kSwPowerCap) != 0 ? 1 : 0);
  thermal.add(is_thermal ? 1 : 0);
  brake.add(is_brake ? 1 : 0);
  // The driver sets this bit also for heat and for the brake, which have bits of their own.
  const bool is_explained = (bits & reason::kHwThermal) != 0 || is_brake;
  hardware.add((bits & reason::kHwSlowdown) != 0 && !is_explained ? 1 : 0);
}

void GpuTable::Row::add(std::int64_t second, const host::GpuSample& sample) {
  power_of_second[static_cast<std::size_t>(second % kSeconds)].add(sample[GpuMeasure::power_w]);
  power_w.add(sample[GpuMeasure::power_w]);
  sm_clock_mhz.add(sample[GpuMeasure::sm_clock_mhz]);
  util.add(sample[GpuMeasure::utilization]);
  temperature_c.add(sample[GpuMeasure::temperature_c]);
  memory_temperature_c.add(sample[GpuMeasure::memory_temperature_c]);
  memory_bytes.add(sample[GpuMeasure::memory_used_bytes]);
  if (sample[GpuMeasure::utilization] > 0) {
    pcie_generation_under_load.add(sample[GpuMeasure::pcie_generation]);
    pcie_width_under_load.add(sample[GpuMeasure::pcie_width]);
  }
  add_reasons(sample[GpuMeasure::clocks_reasons]);
}

void GpuTable::add(std::int64_t second, const host::GpuTelemetry& telemetry) {
  if (telemetry.state != host::DriverState::ok) return;
  for (const host::GpuSample& sample : telemetry.gpus)
    rows_[sample.index].add(second, sample);
}

void GpuTable::close(std::span<const std::vector<int>> groups, std::int64_t first, std::int64_t seconds,
                     jobs::WindowRecord& window) {
  for (const auto& [index, row] : rows_)
    window.gpus.push_back(index);
  const auto append = [&](Metric metric, Mean Row::*member) {
    jobs::Column column{metric, {}};
    for (const auto& [index, row] : rows_)
      column.values.push_back((row.*member).value());
    if (!rows_.empty()) window.columns.push_back(std::move(column));
  };
  append(Metric::gpu_power_w, &Row::power_w);
  append(Metric::gpu_sm_clock_mhz, &Row::sm_clock_mhz);
  append(Metric::gpu_util, &Row::util);
  append(Metric::gpu_mem_bytes, &Row::memory_bytes);
  append(Metric::gpu_temp_c, &Row::temperature_c);
  append(Metric::gpu_mem_temp_c, &Row::memory_temperature_c);
  append(Metric::gpu_throttle_power_cap, &Row::power_cap);
  append(Metric::gpu_throttle_thermal, &Row::thermal);
  append(Metric::gpu_throttle_hw, &Row::hardware);
  append(Metric::gpu_throttle_brake, &Row::brake);
  append(Metric::gpu_pcie_gen, &Row::pcie_generation_under_load);
  append(Metric::gpu_pcie_width, &Row::pcie_width_under_load);
  append_fast(groups, first, seconds, window);
  rows_.clear();
}

void GpuTable::append_fast(std::span<const std::vector<int>> groups, std::int64_t first, std::int64_t seconds,
                           jobs::WindowRecord& window) const {
  for (const std::vector<int>& group : groups) {
    jobs::FastPower fast{group, {}};
    for (std::int64_t second = first; second < first + seconds; ++second) {
      Mean power;
      for (const int gpu : group)
        if (const auto row = rows_.find(gpu); row != rows_.end())
          power.add(row->second.power_of_second[static_cast<std::size_t>(second % kSeconds)].value());
      fast.power_w.push_back(power.value());
    }
    if (std::ranges::any_of(fast.power_w, [](float watts) { return !std::isnan(watts); }))
      window.fast.push_back(std::move(fast));
  }
}

void GpuCounters::start(const host::GpuTelemetry& telemetry, MonoTime time) {
  before_.clear();
  for (const host::GpuSample& sample : telemetry.gpus)
    before_[sample.index] = {sample, time};
}

void GpuCounters::advance(const host::GpuTelemetry& telemetry, MonoTime time, jobs::WindowRecord& window) {
  const auto grown_of = [&](int index, GpuMeasure measure) {
    const auto before = before_.find(index);
    const auto now = std::ranges::find(telemetry.gpus, index, &host::GpuSample::index);
    if (before == before_.end() || now == telemetry.gpus.end()) return jobs::kMissing;
    return grown(before->second.sample[measure], (*now)[measure]);
  };
  const auto seconds_of = [&](int index) {
    const auto before = before_.find(index);
    return before == before_.end() ? jobs::kMissing
                                   : static_cast<float>(to_seconds(time - before->second.time));
  };
  const auto append = [&](Metric metric, GpuMeasure measure, bool is_rate) {
    jobs::Column column{metric, {}};
    for (const int index : window.gpus)
      column.values.push_back(grown_of(index, measure) / (is_rate ? seconds_of(index) : 1));
    if (!window.gpus.empty()) window.columns.push_back(std::move(column));
  };
  append(Metric::gpu_pcie_replays, GpuMeasure::pcie_replays, false);
  append(Metric::gpu_pcie_bytes_s, GpuMeasure::pcie_bytes, true);
  append(Metric::gpu_nvlink_bytes_s, GpuMeasure::nvlink_bytes, true);
  append(Metric::gpu_nvlink_errors, GpuMeasure::nvlink_errors, false);
  append(Metric::gpu_ecc_corrected, GpuMeasure::ecc_corrected, false);
  append(Metric::gpu_ecc_uncorrected, GpuMeasure::ecc_uncorrected, false);
  start(telemetry, time);
}

}  // namespace autopilot::collect
