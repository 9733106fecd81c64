// SPDX-License-Identifier: Apache-2.0
// Silent data corruption: thread i of every block runs the same long chain of arithmetic, and the host knows
// its result bit by bit. Each multiprocessor counts its own differences.
#pragma once

#include "probes/gpu/kernels/numbers.hpp"

namespace autopilot::probes::gpu::kernels {

inline constexpr unsigned kCanaryThreads = 256;

// Counts of one multiprocessor; the caller of the launch zeroes them.
struct CanaryCount {
  uint64_t threads;  // digests computed here
  uint64_t wrong;    // wrong digests
  uint64_t bits;     // all differing bits
};

// Integers and both precisions depend on each other: a wrong bit in any step changes the digest. The numbers
// stay between 1 and 8, far from infinities.
AUTOPILOT_DEVICE uint64_t canary_digest(unsigned thread, unsigned rounds, uint64_t seed) {
  uint64_t word = mixed(seed ^ thread);
  float single = 1.0F;
  double twice = 1.0;
  for (unsigned round = 0; round < rounds; ++round) {
    word = word * 0x5851f42d4c957f2dU + 0x14057b7ef767814fU;
    const auto narrow = bits_as<float>(0x3f800000U | static_cast<uint32_t>(word >> 41));
    const auto wide = bits_as<double>(0x3ff0000000000000U | (word >> 12));
    single = fused(single, 0.25F, fused(narrow, narrow, 1.0F));
    twice = fused(twice, 0.25, fused(wide, wide, 1.0));
    word ^= (uint64_t{bits_as<uint32_t>(single)} << 32) ^ bits_as<uint64_t>(twice) ^ (word >> 29);
  }
  return word;
}

// `expected`: kCanaryThreads digests. `counts`: one for each possible id of a multiprocessor.
AUTOPILOT_KERNEL canary(const uint64_t* expected, CanaryCount* counts, unsigned multiprocessors,
                        unsigned rounds, uint64_t seed) {
  const unsigned thread = thread_index();
  const unsigned home = multiprocessor();
  if (home >= multiprocessors) return;
  const uint64_t difference = canary_digest(thread, rounds, seed) ^ expected[thread];
  __atomic_fetch_add(&counts[home].threads, uint64_t{1}, __ATOMIC_RELAXED);
  if (difference == 0) return;
  __atomic_fetch_add(&counts[home].wrong, uint64_t{1}, __ATOMIC_RELAXED);
  __atomic_fetch_or(&counts[home].bits, difference, __ATOMIC_RELAXED);
}

}  // namespace autopilot::probes::gpu::kernels
