// SPDX-License-Identifier: Apache-2.0
// Input data of the kernels. Each value depends only on its position, so the host can compute it without
// storing it.
#pragma once

#include "probes/gpu/kernels/device.hpp"

namespace autopilot::probes::gpu::kernels {

// Every bit of the result depends on every bit of the input.
AUTOPILOT_DEVICE uint64_t mixed(uint64_t value) {
  value ^= value >> 32;
  value *= 0xd6e8feb86659fd93U;
  value ^= value >> 32;
  value *= 0xd6e8feb86659fd93U;
  return value ^ (value >> 32);
}

// The word at a position of the memory test.
AUTOPILOT_DEVICE uint64_t pattern_word(uint64_t index, uint64_t seed) {
  return mixed(index ^ seed);
}

// Small integers, so that their sums and products are exact in double precision, in any order.
AUTOPILOT_DEVICE double stream_number(uint64_t index) {
  return static_cast<double>(mixed(index) & 0xfffff);
}

// Bounds of integers: a sum of kMostDepth products of two is exact in the type of the sum (24 bits after
// products of bf16, 53 after products of double precision), in any order. A matrix product therefore has one
// correct result.
inline constexpr int kMostBf16 = 63;
inline constexpr int kMostF64 = (1 << 20) - 1;
inline constexpr unsigned kMostDepth = 4096;

AUTOPILOT_DEVICE int matrix_number(uint64_t index, uint64_t seed, int most) {
  return static_cast<int>(mixed(index ^ (seed << 56)) % (2U * static_cast<unsigned>(most) + 1)) - most;
}

// The upper half of a float that needs at most 8 bits of precision.
AUTOPILOT_DEVICE uint16_t to_bf16(float value) {
  return static_cast<uint16_t>(bits_as<uint32_t>(value) >> 16);
}
AUTOPILOT_DEVICE float from_bf16(uint16_t value) {
  return bits_as<float>(uint32_t{value} << 16);
}

}  // namespace autopilot::probes::gpu::kernels
