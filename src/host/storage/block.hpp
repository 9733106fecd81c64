// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "host/files/files.hpp"

namespace autopilot::host {

// What a block device has done and has to do. When nothing was completed between two looks and something is
// in flight at both, the device stalls.
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

}  // namespace autopilot::host
