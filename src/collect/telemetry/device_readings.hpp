// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "host/host.hpp"
#include "host/telemetry/nic_counters.hpp"
#include "jobs/records.hpp"

namespace autopilot::collect {

// What NICs and the inlet sensor report at one moment.
struct DeviceReadings {
  std::vector<host::NicPort> ports;         // in the order of NodeRecord::nics
  std::vector<host::NicCounters> counters;  // as many
  std::optional<double> inlet_c;
  MonoTime time{};
};

// Reads files that may ask firmware or a slow bus. Ports are searched at the first read and then once a
// minute; a port keeps its position for the life of the reader, also while it is missing. For one thread.
class DeviceReader {
 public:
  explicit DeviceReader(std::shared_ptr<const host::Host> host) : host_(std::move(host)) {}

  [[nodiscard]] DeviceReadings read();

 private:
  void search(MonoTime now);

  std::shared_ptr<const host::Host> host_;
  std::vector<host::NicPort> ports_;
  std::optional<MonoTime> searched_;
  std::string inlet_sensor_;
};

// Appends the table of NICs and the inlet temperature: growth and rates from `before` to `now`. `up` is the
// mean of both.
void append_devices(const DeviceReadings& before, const DeviceReadings& now, jobs::WindowRecord& window);

struct GpuPlace {
  int index = 0;
  std::vector<std::string> path;  // host::pci_path
};
// The GPUs whose nearest NICs in the PCI tree include each NIC: below one bridge at least. Empty: unknown.
[[nodiscard]] std::vector<std::vector<int>> gpus_of_nics(
    const std::vector<std::vector<std::string>>& nic_paths, const std::vector<GpuPlace>& gpus);

}  // namespace autopilot::collect
