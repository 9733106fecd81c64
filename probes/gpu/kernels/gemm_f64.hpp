// SPDX-License-Identifier: Apache-2.0
// Matrix product in double precision (DGEMM): on tensor cores of compute capability 8.0 and newer, otherwise
// with fused multiply-adds.
#pragma once

#include "probes/gpu/kernels/numbers.hpp"
#include "probes/gpu/kernels/tile.hpp"

namespace autopilot::probes::gpu::kernels {

inline constexpr unsigned kF64Rows = 64;
inline constexpr unsigned kF64Depth = 16;
inline constexpr BlockShape kF64Block{.rows = kF64Rows, .columns = kF64Rows, .depth = kF64Depth};

#ifdef __CUDA__
AUTOPILOT_DEVICE void tensor_f64(double (&c)[2], double a, double b) {
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
               : "+d"(c[0]), "+d"(c[1])
               : "d"(a), "d"(b));
}
#else
inline void tensor_f64(double (&c)[2], double a, double b) {
  place.together->multiply_f64(c, a, b);
}
#endif

// 64 x 64 of a product, of tiles that are 16 deep.
struct TilesF64 {
  static constexpr unsigned kDepthBytes = kF64Depth * 8;
  static constexpr unsigned kStride = kDepthBytes + 2 * kChunkBytes;
  using A = Tile<kF64Rows, kDepthBytes, kStride>;
  using B = A;

  AUTOPILOT_DEVICE double one(const unsigned char* tile, unsigned line, unsigned at) {
    return *reinterpret_cast<const double*>(tile + line * kStride + at * 8);
  }
};

// By four warps, 32 x 32 each: four by four fragments of 8 x 8.
struct TensorProductF64 : TilesF64 {
  double sums[4][4][2] = {};
  unsigned row = 0;     // first row of the tile that this thread reads
  unsigned column = 0;  // first column
  unsigned depth = 0;

  AUTOPILOT_MEMBER TensorProductF64() {
    const unsigned lane = thread_index() % kWarpThreads;
    const unsigned warp = thread_index() / kWarpThreads;
    row = warp % 2 * 32 + lane / 4;
    column = warp / 2 * 32 + lane / 4;
    depth = lane % 4;
  }

  AUTOPILOT_MEMBER void multiply(const unsigned char* a, const unsigned char* b) {
    for (unsigned from = 0; from < kF64Depth; from += 4) {
      const unsigned at = from + depth;
      double right[4];
      for (unsigned j = 0; j < 4; ++j)
        right[j] = one(b, column + 8 * j, at);
      for (unsigned i = 0; i < 4; ++i) {
        const double left = one(a, row + 8 * i, at);
        for (unsigned j = 0; j < 4; ++j)
          tensor_f64(sums[i][j], left, right[j]);
      }
    }
  }

  AUTOPILOT_MEMBER void store(double* c, uint64_t columns) const {
    const unsigned first = column / 32 * 32 + depth * 2;
    for (unsigned i = 0; i < 4; ++i)
      for (unsigned j = 0; j < 4; ++j)
        for (unsigned part = 0; part < 2; ++part)
          c[(row + 8 * i) * columns + first + 8 * j + part] = sums[i][j][part];
  }
};

// By 128 threads, 8 x 4 each.
struct FusedProductF64 : TilesF64 {
  double sums[8][4] = {};
  unsigned row;
  unsigned column;

  AUTOPILOT_MEMBER FusedProductF64() : row(thread_index() / 16), column(thread_index() % 16) {}

  AUTOPILOT_MEMBER void multiply(const unsigned char* a, const unsigned char* b) {
    for (unsigned at = 0; at < kF64Depth; ++at) {
      double right[4];
      for (unsigned j = 0; j < 4; ++j)
        right[j] = one(b, column + 16 * j, at);
      for (unsigned i = 0; i < 8; ++i) {
        const double left = one(a, row + 8 * i, at);
        for (unsigned j = 0; j < 4; ++j)
          sums[i][j] = fused(left, right[j], sums[i][j]);
      }
    }
  }

  AUTOPILOT_MEMBER void store(double* c, uint64_t columns) const {
    for (unsigned i = 0; i < 8; ++i)
      for (unsigned j = 0; j < 4; ++j)
        c[(row + 8 * i) * columns + column + 16 * j] = sums[i][j];
  }
};

template <class Product>
AUTOPILOT_DEVICE void multiply_f64(unsigned char* shared, double* c, const double* a, const double* b,
                                   unsigned tile_rows, unsigned tile_columns, unsigned depth) {
  const uint64_t first_row = uint64_t{block_index() % tile_rows} * kF64Rows;
  const uint64_t first_column = uint64_t{block_index() / tile_rows} * kF64Rows;
  const uint64_t columns = uint64_t{tile_columns} * kF64Rows;
  Product product;
  multiply_along(product, shared, reinterpret_cast<const unsigned char*>(a + first_row * depth),
                 reinterpret_cast<const unsigned char*>(b + first_column * depth), uint64_t{depth} * 8);
  product.store(c + first_row * columns + first_column, columns);
}

AUTOPILOT_KERNEL fill_f64(double* out, uint64_t count, uint64_t seed) {
  for (uint64_t i = grid_thread(); i < count; i += grid_threads())
    out[i] = static_cast<double>(matrix_number(i, seed, kMostF64));
}

// c = a * b, both stored along `depth`, a multiple of kF64Depth. Block i computes the tile in row i %
// tile_rows.
#if !defined(__CUDA__) || __CUDA_ARCH__ >= 800
AUTOPILOT_KERNEL gemm_f64_tensor(double* c, const double* a, const double* b, unsigned tile_rows,
                                 unsigned tile_columns, unsigned depth) {
  AUTOPILOT_SHARED(shared, 2 * (TilesF64::A::kBytes + TilesF64::B::kBytes));
  multiply_f64<TensorProductF64>(shared, c, a, b, tile_rows, tile_columns, depth);
}
#endif
#if !defined(__CUDA__) || __CUDA_ARCH__ < 800
AUTOPILOT_KERNEL gemm_f64_fused(double* c, const double* a, const double* b, unsigned tile_rows,
                                unsigned tile_columns, unsigned depth) {
  AUTOPILOT_SHARED(shared, 2 * (TilesF64::A::kBytes + TilesF64::B::kBytes));
  multiply_f64<FusedProductF64>(shared, c, a, b, tile_rows, tile_columns, depth);
}
#endif

}  // namespace autopilot::probes::gpu::kernels
