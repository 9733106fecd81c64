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

// What a block device has done and has to do. When nothing was completed between two readings and something
// is in flight at both, the device stalls.
struct BlockActivity {
  std::uint64_t completed = 0;  // reads, writes, discards and flushes since boot
  std::uint64_t in_flight = 0;  // given to the device and not answered yet
};

// /sys/block/<name>/stat. not_found: no such device.
[[nodiscard]] Result<BlockActivity> read_block_activity(const Files& files, const std::string& name);
// The text of that file; malformed when it is not a row of at least eleven numbers.
[[nodiscard]] Result<BlockActivity> parse_block_stat(std::string_view text);

// The sum over the namespaces of one NVMe controller ("nvme0": nvme0n1, nvme0n2, ...). not_found: it has
// none.
[[nodiscard]] Result<BlockActivity> read_nvme_activity(const Files& files, const std::string& controller);

// A whole disk, as the kernel lists it.
struct BlockDevice {
  std::string name;              // "sda", "nvme0n1", "dm-0"
  std::uint64_t sectors = 0;     // of 512 bytes; 0: no medium, or a loop device without a file
  bool is_on_others = false;     // made of other block devices: device mapper, RAID, bcache
  bool is_in_memory = false;     // ram and zram
  bool has_weak_medium = false;  // floppy and optical drives: errors there are of the medium, or of no drive
};

// /sys/block, by name. unavailable: there is no sysfs to ask. Empty: the kernel has no block device.
[[nodiscard]] Result<std::vector<BlockDevice>> scan_block_devices(const Files& files);

// The disk of a name in a kernel message: "sda" of the partition "sda1", anything else as it is. A partition
// that is gone keeps its own name.
[[nodiscard]] std::string disk_of_partition(const Files& files, const std::string& name);

// "8:1" of "sda1", as /proc/self/mountinfo has it; empty for a name that is not a block device.
[[nodiscard]] std::string device_number(const Files& files, const std::string& name);

struct RaidMember {
  std::string name;         // "sda1"
  bool is_faulty = false;   // the kernel took it out of use
  bool is_in_sync = false;  // it holds all data of its place
};

// One array of the kernel's software RAID (md). LVM's own RAID (dm-raid) is none.
struct RaidArray {
  std::string name;              // "md0"
  std::optional<Error> problem;  // why it cannot be understood; the rest is empty then
  std::string level;             // "raid1"; empty for an array that is not set up
  std::string state;             // "clean", "active", "inactive", "broken", ...: the kernel's word
  int places = 0;                // for members, without spares
  int missing = 0;               // places without a member that is in sync; 0 for levels without redundancy
  std::string action;  // "idle", "recover", "resync", "check", "repair", "reshape", "frozen"; empty: the
                       // level has none
  std::optional<double> progress;  // of the action, 0 to 1
  bool is_container = false;       // holds other arrays (firmware RAID) and never runs itself
  std::vector<RaidMember> members;
};

// Every array, by name. Empty: the kernel has none. unavailable: there is no sysfs to ask. An array that
// cannot be read or understood is listed with its problem and hides no other.
[[nodiscard]] Result<std::vector<RaidArray>> scan_raid_arrays(const Files& files);

// "123 / 456" -> 0.27; nothing for "none" and for a text that is not a share.
[[nodiscard]] std::optional<double> parse_raid_progress(std::string_view text);

}  // namespace autopilot::host
