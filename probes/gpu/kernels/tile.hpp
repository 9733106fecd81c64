// SPDX-License-Identifier: Apache-2.0
// How a block of threads copies the next tile of a matrix into shared memory while it multiplies the current
// one.
#pragma once

#include "probes/gpu/kernels/device.hpp"

namespace autopilot::probes::gpu::kernels {

inline constexpr unsigned kGemmThreads = 128;
inline constexpr unsigned kChunkBytes = 16;

// The part of a product that one block computes, and its launch parameters.
struct BlockShape {
  unsigned rows;
  unsigned columns;
  unsigned depth;  // of one step: the depth of a product must be a multiple of it
  unsigned threads = kGemmThreads;
  unsigned shared_bytes = 0;  // requested at launch
};

#ifdef __CUDA__

// GPUs of compute capability 8.0 and newer copy beside their arithmetic; older ones copy in the next
// instruction.
AUTOPILOT_DEVICE void begin_chunk(unsigned char* to, const unsigned char* from) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(shared_address(to)), "l"(from) : "memory");
#else
  *reinterpret_cast<Pair*>(to) = *reinterpret_cast<const Pair*>(from);
#endif
}

AUTOPILOT_DEVICE void end_chunks() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" : : : "memory");
#endif
}

#else

inline void begin_chunk(unsigned char* to, const unsigned char* from) {
  place.together->copy(to, from, kChunkBytes);
}
inline void end_chunks() {
  place.together->commit_copies();
  place.together->wait_copies(0);
}

#endif

// A tile of `Rows` rows of `RowBytes` bytes each, `StrideBytes` apart in shared memory, so that the lanes of
// a warp, which read one column of several rows, have no bank conflicts.
template <unsigned Rows, unsigned RowBytes, unsigned StrideBytes>
struct Tile {
  static constexpr unsigned kBytes = Rows * StrideBytes;
  static constexpr unsigned kChunksOfRow = RowBytes / kChunkBytes;

  // `from`: the first byte of the tile in a matrix with `leading` bytes per row.
  AUTOPILOT_DEVICE void begin(unsigned char* to, const unsigned char* from, uint64_t leading) {
    for (unsigned chunk = thread_index(); chunk < Rows * kChunksOfRow; chunk += kGemmThreads) {
      const unsigned row = chunk / kChunksOfRow;
      const unsigned offset = chunk % kChunksOfRow * kChunkBytes;
      begin_chunk(to + row * StrideBytes + offset, from + row * leading + offset);
    }
  }
};

// c = a * b of one block, both stored along `depth`: the rows of `b` are columns of the product. `Product`
// defines the tiles, holds the sums of its thread and multiplies one pair of tiles.
template <class Product>
AUTOPILOT_DEVICE void multiply_along(Product& product, unsigned char* shared, const unsigned char* a,
                                     const unsigned char* b, uint64_t leading) {
  using A = typename Product::A;
  using B = typename Product::B;
  constexpr unsigned kStage = A::kBytes + B::kBytes;
  const unsigned steps = static_cast<unsigned>(leading / Product::kDepthBytes);
  A::begin(shared, a, leading);
  B::begin(shared + A::kBytes, b, leading);
  for (unsigned step = 0; step < steps; ++step) {
    end_chunks();
    block_barrier();
    if (step + 1 < steps) {
      unsigned char* next = shared + (step + 1) % 2 * kStage;
      A::begin(next, a + uint64_t{step + 1} * Product::kDepthBytes, leading);
      B::begin(next + A::kBytes, b + uint64_t{step + 1} * Product::kDepthBytes, leading);
    }
    const unsigned char* now = shared + step % 2 * kStage;
    product.multiply(now, now + A::kBytes);
  }
}

}  // namespace autopilot::probes::gpu::kernels
