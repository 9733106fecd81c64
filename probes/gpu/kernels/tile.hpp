// SPDX-License-Identifier: Apache-2.0
// How a block of threads brings the next tile of a matrix into shared memory while it multiplies the present
// one.
#pragma once

#include "probes/gpu/kernels/device.hpp"

namespace autopilot::probes::gpu::kernels {

inline constexpr unsigned kGemmThreads = 128;
inline constexpr unsigned kChunkBytes = 16;

// What a block of a kernel makes of a product, and how it is launched.
struct BlockShape {
  unsigned rows;
  unsigned columns;
  unsigned depth;  // of one step: the depth of a product is a multiple of it
  unsigned threads = kGemmThreads;
  unsigned shared_bytes = 0;  // that the launch must ask for
};

#ifdef __CUDA__

// GPUs of compute capability 8.0 copy beside their arithmetic; older ones do it with the next instruction.
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

// A tile of `Rows` rows of `RowBytes` bytes each, `StrideBytes` apart in shared memory: so far that the lanes
// of a warp, which read one column of several rows, meet in no bank.
template <unsigned Rows, unsigned RowBytes, unsigned StrideBytes>
struct Tile {
  static constexpr unsigned kBytes = Rows * StrideBytes;
  static constexpr unsigned kChunksOfRow = RowBytes / kChunkBytes;

  // `from`: the first byte of the tile in a matrix whose rows are `leading` bytes long.
  AUTOPILOT_DEVICE void begin(unsigned char* to, const unsigned char* from, uint64_t leading) {
    for (unsigned chunk = thread_index(); chunk < Rows * kChunksOfRow; chunk += kGemmThreads) {
      const unsigned row = chunk / kChunksOfRow;
      const unsigned offset = chunk % kChunksOfRow * kChunkBytes;
      begin_chunk(to + row * StrideBytes + offset, from + row * leading + offset);
    }
  }
};

// c = a * b of one block, both stored along `depth`: the rows of `b` are columns of the product. `Product`
// says the tiles, keeps the sums of its thread and multiplies one pair of tiles.
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
