// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/files/files.hpp"

namespace autopilot::host {

// What a kernel that died wrote down for the next one; all parts of one record together.
struct CrashRecord {
  std::string path;  // of the part that says why, else of one of them
  std::optional<WallTime>
      time;               // to the second, give or take the uptime; nothing where the name does not tell
  bool is_panic = false;  // else the kernel went on, or the record cannot be read
  std::string words;      // why, in the kernel's words; may be empty
};

struct CrashRecords {
  static constexpr std::size_t kMost = 64;

  std::vector<CrashRecord> records;  // oldest first, those without a time before all others
  std::size_t left_out = 0;          // beyond kMost
  std::size_t unreadable = 0;        // parts that are there and may not be read
  std::size_t packed = 0;            // parts that this kernel could not unpack: nobody knows what they say
};

// /sys/fs/pstore, and where systemd-pstore puts what it finds there. unsupported when this machine has no
// place to keep a record; denied when its folder may not be read.
[[nodiscard]] Result<CrashRecords> read_crash_records(const Files& files);

}  // namespace autopilot::host
