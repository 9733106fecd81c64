// SPDX-License-Identifier: Apache-2.0
#include "collect/telemetry/device_readings.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "collect/telemetry/growth.hpp"
#include "host/telemetry/host_counters.hpp"

namespace autopilot::collect {
namespace {

using host::NicCounters;
using jobs::Metric;

constexpr Duration kSearchInterval = std::chrono::minutes(1);
constexpr Duration kReadPatience = std::chrono::seconds(5);

// Root bus and a bridge below it: what all devices of a socket have in common is less.
constexpr std::size_t kLeastShared = 2;

std::size_t shared_length(const std::vector<std::string>& one, const std::vector<std::string>& other) {
  return static_cast<std::size_t>(std::ranges::mismatch(one, other).in1 - one.begin());
}

float number(std::optional<bool> flag) {
  return flag ? (*flag ? 1.0F : 0.0F) : jobs::kMissing;
}

float mean(float one, float other) {
  if (std::isnan(one)) return other;
  return std::isnan(other) ? one : (one + other) / 2;
}

}  // namespace

void DeviceReader::search(MonoTime now) {
  if (searched_ && now - *searched_ < kSearchInterval) return;
  if (!searched_) inlet_sensor_ = host::find_inlet_sensor(host_->files);
  searched_ = now;
  for (host::NicPort& port : host::scan_nic_ports(*host_, now + kReadPatience)) {
    const auto known = std::ranges::find(ports_, port.name, &host::NicPort::name);
    if (known != ports_.end())
      *known = std::move(port);
    else if (ports_.size() < host::kMaxNicPorts)
      ports_.push_back(std::move(port));
  }
}

DeviceReadings DeviceReader::read() {
  const MonoTime now = host_->clock.now().mono;
  search(now);
  DeviceReadings readings;
  readings.ports = ports_;
  for (const host::NicPort& port : ports_)
    readings.counters.push_back(host::read_nic_counters(*host_, port, now + kReadPatience));
  if (!inlet_sensor_.empty())
    if (const auto degrees = host::read_inlet(host_->files, inlet_sensor_)) readings.inlet_c = *degrees;
  readings.time = host_->clock.now().mono;
  return readings;
}

void append_devices(const DeviceReadings& before, const DeviceReadings& now, jobs::WindowRecord& window) {
  if (now.inlet_c) window.columns.push_back({Metric::host_inlet_c, {static_cast<float>(*now.inlet_c)}});
  const auto seconds = static_cast<float>(to_seconds(now.time - before.time));
  if (now.ports.empty() || seconds <= 0) return;
  for (const host::NicPort& port : now.ports)
    window.nics.push_back(port.name);
  const NicCounters none;
  const auto append = [&](Metric metric, const auto& value_of) {
    jobs::Column column{metric, {}};
    for (std::size_t i = 0; i < now.counters.size(); ++i)
      column.values.push_back(
          value_of(i < before.counters.size() ? before.counters[i] : none, now.counters[i]));
    if (!std::ranges::all_of(column.values, [](float value) { return std::isnan(value); }))
      window.columns.push_back(std::move(column));
  };
  const auto count = [&](Metric metric, std::optional<std::uint64_t> NicCounters::*counter) {
    append(metric,
           [&](const NicCounters& from, const NicCounters& to) { return grown(from.*counter, to.*counter); });
  };
  const auto rate = [&](Metric metric, std::optional<std::uint64_t> NicCounters::*counter) {
    append(metric, [&](const NicCounters& from, const NicCounters& to) {
      return grown(from.*counter, to.*counter) / seconds;
    });
  };
  rate(Metric::nic_tx_bytes_s, &NicCounters::tx_bytes);
  rate(Metric::nic_rx_bytes_s, &NicCounters::rx_bytes);
  append(Metric::nic_up, [](const NicCounters& from, const NicCounters& to) {
    return to.is_up ? mean(number(from.is_up), number(to.is_up)) : jobs::kMissing;
  });
  append(Metric::nic_rate_bytes_s, [](const NicCounters&, const NicCounters& to) {
    return to.rate_bytes_s ? static_cast<float>(*to.rate_bytes_s) : jobs::kMissing;
  });
  count(Metric::nic_link_downed, &NicCounters::link_downed);
  count(Metric::nic_errors, &NicCounters::errors);
  count(Metric::nic_retransmits, &NicCounters::retransmits);
  count(Metric::nic_cnp, &NicCounters::cnp);
}

std::vector<std::vector<int>> gpus_of_nics(const std::vector<std::vector<std::string>>& nic_paths,
                                           const std::vector<GpuPlace>& gpus) {
  std::vector<std::vector<int>> users(nic_paths.size());
  for (const GpuPlace& gpu : gpus) {
    std::size_t nearest = 0;
    for (const auto& path : nic_paths)
      nearest = std::max(nearest, shared_length(path, gpu.path));
    if (nearest < kLeastShared) continue;
    for (std::size_t nic = 0; nic < nic_paths.size(); ++nic)
      if (shared_length(nic_paths[nic], gpu.path) == nearest) users[nic].push_back(gpu.index);
  }
  return users;
}

}  // namespace autopilot::collect
