// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "nccl/windows.hpp"

// What the ranks and the root of a communicator write to each other, as it lies in memory: both are the same
// library on machines of one kind.
namespace autopilot::simulator::nccl {

// The first word of a rank: whoever does not know the secret is not heard.
struct Hello {
  std::uint64_t secret;
  double bits_per_second;
  std::int32_t version;
  std::int32_t ranks;
  std::int32_t rank;
  std::int32_t unused;
};

// The answer, when all are there.
struct Welcome {
  double bits_per_second;  // of the slowest
  std::int32_t code;       // anything else than success: there is no communicator
  std::int32_t rank;       // the code is about this one,
  std::int32_t version;    // and its version
  std::int32_t unused;
};

// Of a rank, with the windows of its buffer behind; the root answers with the same and the windows of the
// result.
struct Collective {
  std::uint64_t count;
  std::int32_t type;
  std::int32_t operation;
  std::uint64_t bytes;  // behind it
};

inline constexpr std::size_t kMostWindowBytes = 3 * kWindowBytes;

}  // namespace autopilot::simulator::nccl
