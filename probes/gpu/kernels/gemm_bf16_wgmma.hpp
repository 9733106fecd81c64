// SPDX-License-Identifier: Apache-2.0
// Matrix product of bf16 with sums in single precision, with the tensor instructions of compute capability
// 9.0 (wgmma): four warps multiply together, and the tensor cores read both factors from shared memory. Other
// capabilities lack these instructions.
#pragma once

#include "probes/gpu/kernels/numbers.hpp"
#include "probes/gpu/kernels/tile.hpp"

namespace autopilot::probes::gpu::kernels {

// A block computes 128 x 256 of the product with two warpgroups, 64 x 256 each, along tiles with a depth of
// 64.
inline constexpr unsigned kWgmmaRows = 128;
inline constexpr unsigned kWgmmaColumns = 256;
inline constexpr unsigned kWgmmaDepth = 64;
inline constexpr unsigned kWgmmaThreads = 256;
inline constexpr unsigned kWarpgroupThreads = 128;
inline constexpr unsigned kWarpgroupRows = 64;

// A row of a tile, 128 bytes, and eight rows, which the swizzle permutes among themselves.
inline constexpr unsigned kSwizzleRow = kWgmmaDepth * 2;
inline constexpr unsigned kSwizzleBlock = 8 * kSwizzleRow;
// While one pair of tiles is multiplied, the next two are being copied; the fourth is the previous one, which
// the other warpgroup can still read.
inline constexpr unsigned kWgmmaStages = 4;
inline constexpr unsigned kWgmmaAhead = 2;
inline constexpr unsigned kWgmmaStageBytes = (kWgmmaRows + kWgmmaColumns) * kSwizzleRow;
inline constexpr BlockShape kWgmmaBlock{.rows = kWgmmaRows,
                                        .columns = kWgmmaColumns,
                                        .depth = kWgmmaDepth,
                                        .threads = kWgmmaThreads,
                                        .shared_bytes = kWgmmaStages * kWgmmaStageBytes};

#ifdef __CUDA__

AUTOPILOT_DEVICE void commit_chunks() {
  asm volatile("cp.async.commit_group;" : : : "memory");
}
template <unsigned Left>
AUTOPILOT_DEVICE void wait_chunks() {
  asm volatile("cp.async.wait_group %0;" : : "n"(Left) : "memory");
}
AUTOPILOT_DEVICE void show_chunks() {
  asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
}

// Orders accesses to the sum registers before the next product.
AUTOPILOT_DEVICE void begin_products() {
  asm volatile("wgmma.fence.sync.aligned;" : : : "memory");
}
AUTOPILOT_DEVICE void commit_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" : : : "memory");
}
template <unsigned Left>
AUTOPILOT_DEVICE void wait_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" : : "n"(Left) : "memory");
}

#define AUTOPILOT_SUMS_4(i) "+f"(c[i]), "+f"(c[(i) + 1]), "+f"(c[(i) + 2]), "+f"(c[(i) + 3])
#define AUTOPILOT_SUMS_16(i) \
  AUTOPILOT_SUMS_4(i), AUTOPILOT_SUMS_4((i) + 4), AUTOPILOT_SUMS_4((i) + 8), AUTOPILOT_SUMS_4((i) + 12)
#define AUTOPILOT_SUMS_64(i) \
  AUTOPILOT_SUMS_16(i), AUTOPILOT_SUMS_16((i) + 16), AUTOPILOT_SUMS_16((i) + 32), AUTOPILOT_SUMS_16((i) + 48)

// c += a * b, 64 x 256 of 16 deep. Both factors are stored along the depth, and neither is negated.
AUTOPILOT_DEVICE void tensor_shared_bf16(float (&c)[128], uint64_t a, uint64_t b) {
  asm volatile(
      "{\n"
      ".reg .pred adds;\n"
      "setp.eq.u32 adds, 0, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
      "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
      "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,"
      "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,"
      "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63,"
      "%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,"
      "%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95,"
      "%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111,"
      "%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"
      "}, %128, %129, adds, 1, 1, 0, 0;\n"
      "}"
      : AUTOPILOT_SUMS_64(0), AUTOPILOT_SUMS_64(64)
      : "l"(a), "l"(b)
      : "memory");
}

#undef AUTOPILOT_SUMS_64
#undef AUTOPILOT_SUMS_16
#undef AUTOPILOT_SUMS_4

#else

inline void commit_chunks() {
  place.together->commit_copies();
}
template <unsigned Left>
inline void wait_chunks() {
  place.together->wait_copies(Left);
}
inline void show_chunks() {
  place.together->show_copies();
}
inline void begin_products() {}
inline void commit_products() {
  place.together->commit_products();
}
template <unsigned Left>
inline void wait_products() {
  place.together->wait_products(Left);
}
inline void tensor_shared_bf16(float (&c)[128], std::uint64_t a, std::uint64_t b) {
  place.together->multiply_shared_bf16(c, a, b);
}

#endif

// The descriptor of rows of 128 bytes whose chunks of 16 bytes are swizzled, from a multiple of
// kSwizzleBlock. Bits from 0: the address; from 16: the distance between columns of chunks, unused here and
// required to be 1; from 32: the distance of eight rows (all in units of 16 bytes); from 62: the swizzle.
AUTOPILOT_DEVICE uint64_t descriptor_of(const unsigned char* rows) {
  return uint64_t{shared_address(rows) >> 4 & 0x3fff} | uint64_t{1} << 16 |
         uint64_t{kSwizzleBlock >> 4} << 32 | uint64_t{1} << 62;
}

// `Rows` rows of a matrix with `leading` bytes per row, 128 bytes of each: chunk i of a row is stored at
// position i ^ row % 8.
template <unsigned Rows>
AUTOPILOT_DEVICE void begin_swizzled(unsigned char* to, const unsigned char* from, uint64_t leading) {
  constexpr unsigned kChunksOfRow = kSwizzleRow / kChunkBytes;
  constexpr unsigned kRowsAtOnce = kWgmmaThreads / kChunksOfRow;
  static_assert(kRowsAtOnce % 8 == 0, "every row of a thread has the same place among eight");
  const unsigned row = thread_index() / kChunksOfRow;
  const unsigned chunk = thread_index() % kChunksOfRow;
  to += row * kSwizzleRow + (chunk ^ row % 8) * kChunkBytes;
  from += row * leading + chunk * kChunkBytes;
  for (unsigned i = 0; i < Rows / kRowsAtOnce; ++i)
    begin_chunk(to + i * kRowsAtOnce * kSwizzleRow, from + i * kRowsAtOnce * leading);
}

struct ProductWgmma {
  float sums[128] = {};

  // `shared`: the tiles of one stage.
  AUTOPILOT_MEMBER void multiply(const unsigned char* shared) {
    const unsigned group = thread_index() / kWarpgroupThreads;
    const uint64_t a = descriptor_of(shared + group * kWarpgroupRows * kSwizzleRow);
    const uint64_t b = descriptor_of(shared + kWgmmaRows * kSwizzleRow);
    begin_products();
    for (unsigned step = 0; step < kWgmmaDepth / 16; ++step)
      tensor_shared_bf16(sums, a + step * (16 * 2 >> 4), b + step * (16 * 2 >> 4));
    commit_products();
  }

  // `c`: the first element of the block in rows of `columns`. Each lane has pairs of adjacent elements.
  AUTOPILOT_MEMBER void store(float* c, uint64_t columns) const {
    using Two = float __attribute__((vector_size(8)));
    const unsigned lane = thread_index() % kWarpThreads;
    const unsigned warp = thread_index() / kWarpThreads;
    float* to = c + (warp * 16 + lane / 4) * columns + lane % 4 * 2;
    for (unsigned j = 0; j < kWgmmaColumns / 8; ++j)
      for (unsigned half = 0; half < 2; ++half)
        *reinterpret_cast<Two*>(to + half * 8 * columns + 8 * j) =
            Two{sums[4 * j + 2 * half], sums[4 * j + 2 * half + 1]};
  }
};

// The tiles of one block that are being copied into shared memory.
struct TilesWgmma {
  unsigned char* shared;
  const unsigned char* a;
  const unsigned char* b;
  uint64_t leading;  // bytes of a row of either matrix
  unsigned steps;

  [[nodiscard]] AUTOPILOT_MEMBER unsigned char* stage(unsigned step) const {
    return shared + step % kWgmmaStages * kWgmmaStageBytes;
  }

  // One group of copies for each step, also when none is left, so that all waits count alike.
  AUTOPILOT_MEMBER void begin(unsigned step) const {
    if (step < steps) {
      const uint64_t offset = uint64_t{step} * kSwizzleRow;
      begin_swizzled<kWgmmaRows>(stage(step), a + offset, leading);
      begin_swizzled<kWgmmaColumns>(stage(step) + kWgmmaRows * kSwizzleRow, b + offset, leading);
    }
    commit_chunks();
  }
};

// c = a * b, both stored along `depth`, a multiple of kWgmmaDepth. Block i computes the tile in row i %
// tile_rows.
AUTOPILOT_KERNEL AUTOPILOT_BLOCK_OF(kWgmmaThreads)
    gemm_bf16_wgmma(float* c, const uint16_t* a, const uint16_t* b, unsigned tile_rows, unsigned tile_columns,
                    unsigned depth) {
  AUTOPILOT_SHARED_OF_LAUNCH(shared);
  const uint64_t first_row = uint64_t{block_index() % tile_rows} * kWgmmaRows;
  const uint64_t first_column = uint64_t{block_index() / tile_rows} * kWgmmaColumns;
  const uint64_t columns = uint64_t{tile_columns} * kWgmmaColumns;
  const TilesWgmma tiles{.shared = shared,
                         .a = reinterpret_cast<const unsigned char*>(a + first_row * depth),
                         .b = reinterpret_cast<const unsigned char*>(b + first_column * depth),
                         .leading = uint64_t{depth} * 2,
                         .steps = depth / kWgmmaDepth};
  ProductWgmma product;
  for (unsigned step = 0; step < kWgmmaAhead; ++step)
    tiles.begin(step);
  for (unsigned step = 0; step < tiles.steps; ++step) {
    wait_chunks<kWgmmaAhead - 1>();
    show_chunks();
    block_barrier();  // all threads have their data of this step, and have finished the last step but one
    tiles.begin(step + kWgmmaAhead);
    product.multiply(tiles.stage(step));
    wait_products<1>();
  }
  wait_products<0>();
  product.store(c + first_row * columns + first_column, columns);
}

}  // namespace autopilot::probes::gpu::kernels
