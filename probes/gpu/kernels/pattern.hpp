// SPDX-License-Identifier: Apache-2.0
// Memory test: writes words that depend on their address, reads them later and compares.
#pragma once

#include "probes/gpu/kernels/numbers.hpp"

namespace autopilot::probes::gpu::kernels {

// The caller of the launch zeroes it, except `first`, which it sets to the number of words.
struct PatternResult {
  uint64_t wrong;  // words
  uint64_t first;  // index of the first wrong word
  uint64_t bits;   // all differing bits
};

// `flip`: bits to flip in every word, so that a second pass writes the complement.
AUTOPILOT_KERNEL pattern_write(uint64_t* words, uint64_t count, uint64_t seed, uint64_t flip) {
  for (uint64_t i = grid_thread(); i < count; i += grid_threads())
    words[i] = pattern_word(i, seed) ^ flip;
}

AUTOPILOT_DEVICE void lower(uint64_t* least, uint64_t value) {
  uint64_t seen = __atomic_load_n(least, __ATOMIC_RELAXED);
  while (value < seen &&
         !__atomic_compare_exchange_n(least, &seen, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}

AUTOPILOT_KERNEL pattern_verify(const uint64_t* words, uint64_t count, uint64_t seed, uint64_t flip,
                                PatternResult* result) {
  for (uint64_t i = grid_thread(); i < count; i += grid_threads()) {
    const uint64_t difference = words[i] ^ pattern_word(i, seed) ^ flip;
    if (difference == 0) continue;
    __atomic_fetch_add(&result->wrong, uint64_t{1}, __ATOMIC_RELAXED);
    __atomic_fetch_or(&result->bits, difference, __ATOMIC_RELAXED);
    lower(&result->first, i);
  }
}

}  // namespace autopilot::probes::gpu::kernels
