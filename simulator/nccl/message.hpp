// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "nccl/windows.hpp"

// Messages between the ranks and the root of a communicator, in memory layout: both sides use the same
// library on machines of one kind.
namespace autopilot::simulator::nccl {

// The first message of a rank; the root ignores clients without the secret.
struct Hello {
  std::uint64_t secret;
  double bits_per_second;
  std::int32_t version;
  std::int32_t ranks;
  std::int32_t rank;
  std::int32_t unused;
};

// The response when all ranks have joined.
struct Welcome {
  double bits_per_second;  // of the slowest
  std::int32_t code;       // other than success: the communicator failed
  std::int32_t rank;       // rank that the code is about,
  std::int32_t version;    // and its version
  std::int32_t unused;
};

// From a rank, followed by the windows of its buffer; the root responds with the same and the windows of the
// result.
struct Collective {
  std::uint64_t count;
  std::int32_t type;
  std::int32_t operation;
  std::uint64_t bytes;  // behind it
};

inline constexpr std::size_t kMostWindowBytes = 3 * kWindowBytes;

}  // namespace autopilot::simulator::nccl
