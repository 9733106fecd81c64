// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/files/files.hpp"

namespace autopilot::host {

// What a mounted ext4 filesystem remembers of its errors. It stands in the filesystem itself: it survives
// reboots and goes away when fsck repaired it.
struct Ext4Errors {
  std::string device;            // "sda1", "dm-0"
  std::string device_number;     // "8:1": what mountinfo names it by; empty: unknown
  std::optional<Error> problem;  // why the count cannot be read
  std::uint64_t count = 0;
  std::optional<WallTime> first;
  std::optional<WallTime> last;
  std::string last_function;  // of the kernel, "ext4_find_entry"; empty: unknown
};

// Every mounted ext4 filesystem, by device. Empty: there is none. unavailable: there is no sysfs to ask.
// One that cannot be read or understood is listed with its problem and hides no other.
[[nodiscard]] Result<std::vector<Ext4Errors>> scan_ext4_errors(const Files& files);

}  // namespace autopilot::host
