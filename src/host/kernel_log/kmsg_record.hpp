// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/kernel_log/kernel_log.hpp"

namespace autopilot::host {

// What user space must write in front of a text so that the record counts as injected.
inline constexpr std::string_view kInjectedPrefix = "autopilot-injected: ";

// One record in the form of /dev/kmsg: "prio,sequence,microseconds,flags[,...];text\n KEY=value\n...".
struct KmsgRecord {
  std::uint64_t sequence = 0;
  std::uint64_t microseconds = 0;  // since boot, on the kernel's log clock
  int priority = 0;                // 0..7
  int facility = 0;                // 0 is the kernel
  bool injected = false;           // carried kInjectedPrefix, which is removed
  std::string text;                // clean_log_text of the record's text; properties (KEY=value) are dropped
};

// malformed: no such header. Any bytes may follow the header; nothing is read past the first line.
[[nodiscard]] Result<KmsgRecord> parse_kmsg_record(std::string_view record);

// Valid UTF-8 of at most `limit` bytes without control characters but newline and tab: the kernel's \xNN is
// undone where that gives such text and stays as it is otherwise; bytes that cannot stay become \xNN.
[[nodiscard]] std::string clean_log_text(std::string_view raw, std::size_t limit = KernelRecord::kMaxText);

// The moment a record was written, on both clocks; never later than `now`. The kernel's log clock and
// CLOCK_MONOTONIC both count from boot.
[[nodiscard]] Instant instant_since_boot(std::uint64_t microseconds, Instant now);

[[nodiscard]] KernelRecord to_kernel_record(KmsgRecord record, Instant now);

}  // namespace autopilot::host
