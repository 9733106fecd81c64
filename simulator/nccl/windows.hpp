// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "probes/gpu/nccl/nccl_abi.h"

namespace autopilot::simulator::nccl {

// Of a large buffer the simulated ranks exchange only its beginning, its middle and its end, so that a
// megabyte costs no more than a page; what lies between is left alone. Of a small one, all.
inline constexpr std::size_t kWindowBytes = 8192;

struct Window {
  std::size_t offset = 0;  // in bytes
  std::size_t bytes = 0;
};
[[nodiscard]] std::vector<Window> windows_of(std::size_t bytes);

// Bytes of an element; 0 where the simulated library does not know the type.
[[nodiscard]] std::size_t size_of(probes::gpu::nccl::DataType type);

// Adds `more` to what is in `sum`, or takes the larger or smaller of both, element by element; they have the
// same size.
void reduce(std::span<std::byte> sum, std::span<const std::byte> more, probes::gpu::nccl::DataType type,
            probes::gpu::nccl::Operation operation);

}  // namespace autopilot::simulator::nccl
