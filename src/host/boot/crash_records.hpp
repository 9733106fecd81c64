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

// The record that a crashing kernel saved for the next boot; the parts of one record are joined.
struct CrashRecord {
  std::string path;  // of the part with the reason, otherwise of any part
  std::optional<WallTime>
      time;               // in seconds, off by the uptime at most; missing if the name does not contain it
  bool is_panic = false;  // otherwise the kernel continued, or the record cannot be read
  std::string words;      // the reason, as the kernel wrote it; may be empty
};

struct CrashRecords {
  static constexpr std::size_t kMost = 64;

  std::vector<CrashRecord> records;  // oldest first; records without a time come first
  std::size_t left_out = 0;          // beyond kMost
  std::size_t unreadable = 0;        // parts without permission to read
  std::size_t packed = 0;            // parts that this kernel could not unpack; their content is unknown
};

// Reads /sys/fs/pstore, and the folder to which systemd-pstore moves its files. unsupported: this machine has
// no storage for records; denied: no permission to list /sys/fs/pstore.
[[nodiscard]] Result<CrashRecords> read_crash_records(const Files& files);

}  // namespace autopilot::host
