// SPDX-License-Identifier: Apache-2.0
// Memory bandwidth: reads and writes whole buffers of double precision once. `pairs`: their length, in units
// of 16 bytes.
#pragma once

#include "probes/gpu/kernels/numbers.hpp"

namespace autopilot::probes::gpu::kernels {

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
