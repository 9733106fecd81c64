// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "host/files/files.hpp"

namespace autopilot::host {

// Time of all processors since boot, in ticks of /proc/stat.
struct ProcessorTime {
  std::uint64_t busy_ticks = 0;  // neither idle nor waiting for I/O; time that a hypervisor took is idle
  std::uint64_t total_ticks = 0;
  std::size_t processors = 0;
};

// The text of /proc/stat.
[[nodiscard]] Result<ProcessorTime> parse_processor_time(std::string_view text);

// Bytes that the named disks have read and written since boot. The text of /proc/diskstats; malformed: a row
// without its columns.
struct DiskTraffic {
  std::uint64_t read_bytes = 0;
  std::uint64_t written_bytes = 0;
};
[[nodiscard]] Result<DiskTraffic> parse_disk_traffic(std::string_view text,
                                                     const std::vector<std::string>& disks);

// Counters of the whole machine since boot; missing: not readable. The kernel answers all from memory.
struct HostCounters {
  std::optional<ProcessorTime> processors;
  std::optional<std::uint64_t> psi_cpu_us, psi_io_us, psi_memory_us;  // some tasks waited
  // Disks, and what NFS servers were asked for. A machine with an NFS mount that is not counted is missing.
  std::optional<std::uint64_t> storage_read_bytes, storage_written_bytes;
};

// `disks`: of counted_disks().
[[nodiscard]] HostCounters read_host_counters(const Files& files, const std::vector<std::string>& disks);
// The block devices that are hardware: those made of others would count their traffic twice. Empty: none.
[[nodiscard]] std::vector<std::string> counted_disks(const Files& files);

// Runnable threads now, without the reading one (/proc/loadavg).
[[nodiscard]] Result<std::uint64_t> read_runnable_threads(const Files& files);

// The file of the sensor of the air that comes in, by its label ("Inlet", "Ambient"); empty: no driver has
// one. Reading it may ask a slow bus.
[[nodiscard]] std::string find_inlet_sensor(const Files& files);
// °C, -40 to 100.
[[nodiscard]] Result<double> read_inlet(const Files& files, std::string_view sensor);

}  // namespace autopilot::host
