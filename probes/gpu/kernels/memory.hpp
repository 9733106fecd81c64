// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "probes/gpu/kernels/device.hpp"
#include "probes/gpu/kernels/numbers.hpp"

namespace autopilot::probes::gpu::kernels {

// The memory test writes words that depend on their address, reads them later and compares.

// Result of pattern_verify. The caller of the launch zeroes it, except `first`, which it sets to the number
// of words.
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

// Behaves like a collective that waits for a dead partner: all threads poll one word of memory.

// Ends after that many nanoseconds, or when `flag` is not zero.
AUTOPILOT_KERNEL spin(const uint64_t* flag, uint64_t nanoseconds) {
  const uint64_t begin = nanosecond_clock();
  while (nanosecond_clock() - begin < nanoseconds && __atomic_load_n(flag, __ATOMIC_RELAXED) == 0) {
  }
}

// Memory bandwidth: reads and writes whole buffers of double precision once. `pairs`: their length, in units
// of 16 bytes.

AUTOPILOT_KERNEL fill_stream(Pair* out, uint64_t pairs) {
  for (uint64_t i = grid_thread(); i < pairs; i += grid_threads())
    out[i] = Pair{stream_number(2 * i), stream_number(2 * i + 1)};
}

AUTOPILOT_KERNEL stream_copy(Pair* __restrict out, const Pair* __restrict in, uint64_t pairs) {
  for (uint64_t i = grid_thread(); i < pairs; i += grid_threads())
    out[i] = in[i];
}

AUTOPILOT_KERNEL stream_scale(Pair* __restrict out, const Pair* __restrict in, double factor,
                              uint64_t pairs) {
  for (uint64_t i = grid_thread(); i < pairs; i += grid_threads())
    out[i] = in[i] * factor;
}

AUTOPILOT_KERNEL stream_triad(Pair* __restrict out, const Pair* __restrict first,
                              const Pair* __restrict second, double factor, uint64_t pairs) {
  for (uint64_t i = grid_thread(); i < pairs; i += grid_threads())
    out[i] = first[i] + second[i] * factor;
}

AUTOPILOT_KERNEL daxpy(Pair* __restrict y, const Pair* __restrict x, double factor, uint64_t pairs) {
  for (uint64_t i = grid_thread(); i < pairs; i += grid_threads())
    y[i] += x[i] * factor;
}

}  // namespace autopilot::probes::gpu::kernels
