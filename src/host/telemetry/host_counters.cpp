// SPDX-License-Identifier: Apache-2.0
#include "host/telemetry/host_counters.hpp"

#include <algorithm>
#include <set>

#include "core/parse.hpp"
#include "host/memory/memory.hpp"
#include "host/storage/block.hpp"
#include "host/storage/filesystems.hpp"

namespace autopilot::host {
namespace {

// Columns of the row "cpu": user nice system idle iowait irq softirq steal; guests are part of user and nice.
constexpr std::size_t kColumns = 8;
constexpr std::size_t kIdle = 3;
constexpr std::size_t kIoWait = 4;
constexpr std::size_t kSteal = 7;

// Columns of /proc/diskstats.
constexpr std::size_t kDiskName = 2;
constexpr std::size_t kSectorsRead = 5;
constexpr std::size_t kSectorsWritten = 9;
constexpr std::uint64_t kSectorBytes = 512;

constexpr std::string_view kSensors = "/sys/class/hwmon";
constexpr double kMilliDegrees = 1000;

Error not_a_row(std::string_view file, std::string_view line) {
  return {Errc::malformed,
          std::string(file) + ": not a row of counters: " + to_utf8(trim(line).substr(0, 80))};
}

std::optional<std::uint64_t> some_total_us(const Files& files, const char* path) {
  const auto text = files.read(path);
  if (!text) return std::nullopt;
  const auto pressure = parse_pressure(*text);
  return pressure ? pressure->some.total_us : std::nullopt;
}

std::optional<DiskTraffic> read_disk_traffic(const Files& files, const std::vector<std::string>& disks) {
  const auto text = files.read("/proc/diskstats");
  if (!text) return std::nullopt;
  auto traffic = parse_disk_traffic(*text, disks);
  return traffic ? std::optional(*traffic) : std::nullopt;
}

// nullopt: mounts exist and cannot be understood.
std::optional<DiskTraffic> read_nfs_traffic(const Files& files) {
  const auto mounts = read_nfs_mounts(files);
  if (!mounts) {
    if (mounts.error().code == Errc::not_found) return DiskTraffic{};  // no NFS client
    return std::nullopt;
  }
  DiskTraffic traffic;
  std::set<std::string_view> exports;
  for (const NfsMount& mount : *mounts) {
    if (!exports.insert(mount.exported).second) continue;
    traffic.read_bytes += mount.read_bytes;
    traffic.written_bytes += mount.written_bytes;
  }
  return traffic;
}

}  // namespace

Result<ProcessorTime> parse_processor_time(std::string_view text) {
  ProcessorTime time;
  bool has_sum = false;
  for (const std::string_view line : split(text, '\n')) {
    if (!line.starts_with("cpu")) break;
    if (!line.starts_with("cpu ")) {
      ++time.processors;
      continue;
    }
    const auto words = split_words(line);
    if (words.size() <= kColumns) return fail(not_a_row("stat", line));
    for (std::size_t column = 0; column < kColumns; ++column) {
      const auto ticks = parse_number<std::uint64_t>(words[column + 1]);
      if (!ticks) return fail(not_a_row("stat", line));
      time.total_ticks += *ticks;
      if (column != kIdle && column != kIoWait && column != kSteal) time.busy_ticks += *ticks;
    }
    has_sum = true;
  }
  if (!has_sum || time.processors == 0) return fail(Errc::malformed, "stat: no row of processors");
  return time;
}

Result<DiskTraffic> parse_disk_traffic(std::string_view text, const std::vector<std::string>& disks) {
  DiskTraffic traffic;
  for (const std::string_view line : split(text, '\n')) {
    const auto words = split_words(line);
    if (words.size() <= kDiskName || std::ranges::find(disks, words[kDiskName]) == disks.end()) continue;
    if (words.size() <= kSectorsWritten) return fail(not_a_row("diskstats", line));
    const auto read = parse_number<std::uint64_t>(words[kSectorsRead]);
    const auto written = parse_number<std::uint64_t>(words[kSectorsWritten]);
    if (!read || !written) return fail(not_a_row("diskstats", line));
    traffic.read_bytes += *read * kSectorBytes;
    traffic.written_bytes += *written * kSectorBytes;
  }
  return traffic;
}

std::vector<std::string> counted_disks(const Files& files) {
  std::vector<std::string> disks;
  const auto devices = scan_block_devices(files);
  if (!devices) return disks;
  for (const BlockDevice& device : *devices)
    if (!device.is_on_others && !device.is_in_memory && !device.name.starts_with("loop"))
      disks.push_back(device.name);
  return disks;
}

HostCounters read_host_counters(const Files& files, const std::vector<std::string>& disks) {
  HostCounters counters;
  if (const auto text = files.read("/proc/stat"))
    if (const auto time = parse_processor_time(*text)) counters.processors = *time;
  counters.psi_cpu_us = some_total_us(files, "/proc/pressure/cpu");
  counters.psi_io_us = some_total_us(files, "/proc/pressure/io");
  counters.psi_memory_us = some_total_us(files, "/proc/pressure/memory");
  const auto local = read_disk_traffic(files, disks);
  const auto nfs = read_nfs_traffic(files);
  if (local && nfs) {
    counters.storage_read_bytes = local->read_bytes + nfs->read_bytes;
    counters.storage_written_bytes = local->written_bytes + nfs->written_bytes;
  }
  return counters;
}

Result<std::uint64_t> read_runnable_threads(const Files& files) {
  const std::string text = TRY(files.read("/proc/loadavg"));  // "0.20 0.18 0.12 1/80 11206"
  const auto words = split_words(text);
  const auto slash = words.size() > 3 ? words[3].find('/') : std::string_view::npos;
  const auto running =
      slash == std::string_view::npos ? std::nullopt : parse_number<std::uint64_t>(words[3].substr(0, slash));
  if (!running) return fail(not_a_row("loadavg", text));
  return *running > 0 ? *running - 1 : 0;
}

std::string find_inlet_sensor(const Files& files) {
  constexpr std::string_view kLabel = "_label";
  const auto devices = files.list_sysfs(kSensors);
  if (!devices) return {};
  for (const std::string& device : *devices) {
    const std::string folder = std::string(kSensors) + "/" + device;
    const auto names = files.list(folder);
    if (!names) continue;
    for (const std::string& name : *names) {
      if (!name.starts_with("temp") || !name.ends_with(kLabel)) continue;
      const std::string label = to_lower(files.read_word(folder + "/" + name).value_or(""));
      if (label.find("inlet") == std::string::npos && label.find("ambient") == std::string::npos) continue;
      return folder + "/" + name.substr(0, name.size() - kLabel.size()) + "_input";
    }
  }
  return {};
}

Result<double> read_inlet(const Files& files, std::string_view sensor) {
  constexpr double kColdest = -40;
  constexpr double kHottest = 100;
  const double degrees = static_cast<double>(TRY(files.read_integer(sensor))) / kMilliDegrees;
  if (degrees < kColdest || degrees > kHottest)
    return fail(Errc::malformed, std::string(sensor) + ": not a temperature of air");
  return degrees;
}

}  // namespace autopilot::host
