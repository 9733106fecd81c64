// SPDX-License-Identifier: Apache-2.0
#include "collect/telemetry/host_table.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace autopilot::collect {
namespace {

using host::HostCounters;
using host::ProcessorTime;
using jobs::Metric;

float busy_share(const std::optional<ProcessorTime>& before, const std::optional<ProcessorTime>& now) {
  if (!before || !now) return jobs::kMissing;
  const float busy = grown(std::optional(before->busy_ticks), std::optional(now->busy_ticks));
  const float total = grown(std::optional(before->total_ticks), std::optional(now->total_ticks));
  return total > 0 ? std::min(busy / total, 1.0F) : jobs::kMissing;
}

}  // namespace

void HostTable::start(MonoTime now) {
  disks_ = host::counted_disks(files_);
  disks_age_ = 0;
  before_ = host::read_host_counters(files_, disks_);
  begin_ = now;
  runnable_ = {};
}

void HostTable::sample() {
  if (const auto threads = host::read_runnable_threads(files_)) runnable_.add(static_cast<double>(*threads));
}

void HostTable::close(MonoTime now, jobs::WindowRecord& window) {
  const HostCounters counters = host::read_host_counters(files_, disks_);
  const auto seconds = static_cast<float>(to_seconds(now - begin_));
  const auto append = [&](Metric metric, float value) {
    if (!std::isnan(value)) window.columns.push_back({metric, {value}});
  };
  const auto pressure = [&](Metric metric, std::optional<std::uint64_t> HostCounters::*total_us) {
    constexpr float kMicro = 1e-6F;
    append(metric, std::min(grown(before_.*total_us, counters.*total_us) * kMicro / seconds, 1.0F));
  };
  if (seconds > 0) {
    append(Metric::host_cpu, busy_share(before_.processors, counters.processors));
    if (counters.processors)
      append(Metric::host_run_queue, runnable_.value() / static_cast<float>(counters.processors->processors));
    pressure(Metric::host_psi_cpu, &HostCounters::psi_cpu_us);
    pressure(Metric::host_psi_io, &HostCounters::psi_io_us);
    pressure(Metric::host_psi_memory, &HostCounters::psi_memory_us);
    append(Metric::host_storage_read_bytes_s,
           grown(before_.storage_read_bytes, counters.storage_read_bytes) / seconds);
    append(Metric::host_storage_write_bytes_s,
           grown(before_.storage_written_bytes, counters.storage_written_bytes) / seconds);
  }
  if (disks_age_ >= kWindowsOfDisks) return start(now);
  ++disks_age_;
  before_ = counters;
  begin_ = now;
  runnable_ = {};
}

}  // namespace autopilot::collect
