// SPDX-License-Identifier: Apache-2.0
// Matrix product of bf16 with sums in single precision, on tensor cores of compute capability 8.0 and newer.
#pragma once

#include "probes/gpu/kernels/numbers.hpp"
#include "probes/gpu/kernels/tile.hpp"

namespace autopilot::probes::gpu::kernels {

inline constexpr unsigned kBf16Rows = 128;
inline constexpr unsigned kBf16Depth = 32;
inline constexpr BlockShape kBf16Block{.rows = kBf16Rows, .columns = kBf16Rows, .depth = kBf16Depth};

#ifdef __CUDA__
AUTOPILOT_DEVICE void tensor_bf16(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
#else
inline void tensor_bf16(float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
  place.together->multiply_bf16(c, a, b);
}
#endif

// 128 x 128 of the product by four warps, 64 x 64 each: four by eight fragments of 16 x 8.
struct ProductBf16 {
  static constexpr unsigned kDepthBytes = kBf16Depth * 2;
  static constexpr unsigned kStride = kDepthBytes + kChunkBytes;
  using A = Tile<kBf16Rows, kDepthBytes, kStride>;
  using B = A;

  float sums[4][8][4] = {};
  unsigned row = 0;     // first row of the tile that this thread reads
  unsigned column = 0;  // first column
  unsigned depth = 0;

  AUTOPILOT_MEMBER ProductBf16() {
    const unsigned lane = thread_index() % kWarpThreads;
    const unsigned warp = thread_index() / kWarpThreads;
    row = warp % 2 * 64 + lane / 4;
    column = warp / 2 * 64 + lane / 4;
    depth = lane % 4 * 2;
  }

  // Two adjacent elements along the depth.
  AUTOPILOT_DEVICE uint32_t two(const unsigned char* tile, unsigned line, unsigned at) {
    return *reinterpret_cast<const uint32_t*>(tile + line * kStride + at * 2);
  }

  AUTOPILOT_MEMBER void multiply(const unsigned char* a, const unsigned char* b) {
    for (unsigned from = 0; from < kBf16Depth; from += 16) {
      const unsigned at = from + depth;
      uint32_t left[4][4];
      for (unsigned i = 0; i < 4; ++i)
        for (unsigned part = 0; part < 4; ++part)
          left[i][part] = two(a, row + 16 * i + 8 * (part % 2), at + 8 * (part / 2));
      for (unsigned j = 0; j < 8; ++j) {
        const uint32_t right[2] = {two(b, column + 8 * j, at), two(b, column + 8 * j, at + 8)};
        for (unsigned i = 0; i < 4; ++i)
          tensor_bf16(sums[i][j], left[i], right);
      }
    }
  }

  // `c`: the first element of the block in rows of `columns`.
  AUTOPILOT_MEMBER void store(float* c, uint64_t columns) const {
    const unsigned first = column / 64 * 64 + depth;
    for (unsigned i = 0; i < 4; ++i)
      for (unsigned j = 0; j < 8; ++j)
        for (unsigned part = 0; part < 4; ++part)
          c[(row + 16 * i + 8 * (part / 2)) * columns + first + 8 * j + part % 2] = sums[i][j][part];
  }
};

AUTOPILOT_KERNEL fill_bf16(uint16_t* out, uint64_t count, uint64_t seed) {
  for (uint64_t i = grid_thread(); i < count; i += grid_threads())
    out[i] = to_bf16(static_cast<float>(matrix_number(i, seed, kMostBf16)));
}

// c = a * b, both stored along `depth`, which kBf16Depth divides. Block i makes the tile in row i %
// tile_rows.
AUTOPILOT_KERNEL gemm_bf16(float* c, const uint16_t* a, const uint16_t* b, unsigned tile_rows,
                           unsigned tile_columns, unsigned depth) {
  AUTOPILOT_SHARED(shared, 2 * (ProductBf16::A::kBytes + ProductBf16::B::kBytes));
  const uint64_t first_row = uint64_t{block_index() % tile_rows} * kBf16Rows;
  const uint64_t first_column = uint64_t{block_index() / tile_rows} * kBf16Rows;
  const uint64_t columns = uint64_t{tile_columns} * kBf16Rows;
  ProductBf16 product;
  multiply_along(product, shared, reinterpret_cast<const unsigned char*>(a + first_row * depth),
                 reinterpret_cast<const unsigned char*>(b + first_column * depth), uint64_t{depth} * 2);
  product.store(c + first_row * columns + first_column, columns);
}

}  // namespace autopilot::probes::gpu::kernels
