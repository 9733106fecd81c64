// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "cuda/call_faults.hpp"

namespace autopilot::simulator::nccl {

// What a rank is told in the place of a word of 64 bits that all agree on.
struct WrongWord {
  int rank = 0;
  std::int64_t call = 0;  // of those with such a word, from 0 on
  std::uint64_t value = 0;
};

// What one process can do, as the simulated library plays it.
struct NcclTable {
  int version = 22105;
  double bus_bits_per_second = 3200e9;  // the slowest process of a communicator counts for all
  std::optional<int> wrong_rank;        // gets a wrong sum of floats, at the end
  std::optional<WrongWord> wrong_word;
  cuda::CallFaults calls;
};

// The YAML of tests and people; docs/gpu-probe.md explains it. Errc::malformed: every problem with its line.
[[nodiscard]] Result<NcclTable> parse_nccl_table(std::string_view text, const std::string& file);

}  // namespace autopilot::simulator::nccl
