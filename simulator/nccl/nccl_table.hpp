// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "cuda/call_faults.hpp"

namespace autopilot::simulator::nccl {

// A wrong 64-bit word for one rank, instead of the word that all agree on.
struct WrongWord {
  int rank = 0;
  std::int64_t call = 0;  // among calls with such a word, from 0 on
  std::uint64_t value = 0;
};

// Properties of one process, as the simulated library presents them.
struct NcclTable {
  int version = 22105;
  double bus_bits_per_second = 3200e9;  // the slowest process of a communicator determines its speed
  std::optional<int> wrong_rank;        // receives a wrong sum of floats, at the end
  std::optional<WrongWord> wrong_word;
  cuda::CallFaults calls;
};

// Parses the YAML of tests and users; see docs/gpu-probe.md. Errc::malformed: every problem with its line.
[[nodiscard]] Result<NcclTable> parse_nccl_table(std::string_view text, const std::string& file);

}  // namespace autopilot::simulator::nccl
