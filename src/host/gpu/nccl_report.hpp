// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace autopilot::host {

// What all_reduce_perf of nccl-tests writes with `-J FILE`.
struct NcclReport {
  struct Row {
    std::uint64_t bytes = 0;
    double algorithm_bandwidth = 0;  // GB/s of 10^9 bytes, the slower one of in place and out of place
    double bus_bandwidth = 0;        // likewise: what the links carried, whatever the number of GPUs
    // Elements that were not the right ones, of both. Nothing: those that were measured were not all checked,
    // and no wrong one was told.
    std::optional<std::uint64_t> wrong;
  };
  std::vector<Row> rows;  // as written
};

inline constexpr std::size_t kMaxNcclReport = std::size_t{1} << 20;  // bytes
inline constexpr std::size_t kMaxNcclRows = 1024;

// malformed: what is no such report, names the member. Pure, and safe with what a stranger wrote.
[[nodiscard]] Result<NcclReport> parse_nccl_report(std::string_view text);

}  // namespace autopilot::host
