// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "host/files/files.hpp"

namespace autopilot::host {

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

// Every array, by name. Empty: the kernel has none. unavailable: there is no sysfs to ask. One that cannot be
// read or understood is listed with its problem and hides no other.
[[nodiscard]] Result<std::vector<RaidArray>> scan_raid_arrays(const Files& files);

// "123 / 456" -> 0.27; nothing for "none" and what is no share.
[[nodiscard]] std::optional<double> parse_raid_progress(std::string_view text);

}  // namespace autopilot::host
