// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "probes/gpu/nccl/nccl_abi.h"

namespace autopilot::simulator::nccl {

// For a large buffer, the simulated ranks exchange only its beginning, its middle and its end, so that a
// megabyte costs no more than a page; the rest is unchanged. A small buffer is exchanged completely.
inline constexpr std::size_t kWindowBytes = 8192;

struct Window {
  std::size_t offset = 0;  // in bytes
  std::size_t bytes = 0;
};
[[nodiscard]] std::vector<Window> windows_of(std::size_t bytes);

// Bytes of an element; 0 if the simulated library does not support the type.
[[nodiscard]] std::size_t size_of(probes::gpu::nccl::DataType type);

// Adds `more` to `sum`, or takes the larger or smaller of both, element by element; both have the same size.
void reduce(std::span<std::byte> sum, std::span<const std::byte> more, probes::gpu::nccl::DataType type,
            probes::gpu::nccl::Operation operation);

}  // namespace autopilot::simulator::nccl
