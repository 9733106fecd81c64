// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "probes/gpu/kernels/block_fixture.hpp"
#include "probes/gpu/kernels/gemm_bf16.hpp"
#include "probes/gpu/kernels/gemm_bf16_wgmma.hpp"
#include "probes/gpu/kernels/gemm_f64.hpp"

namespace autopilot::probes::gpu::kernels {
namespace {

constexpr std::uint64_t kSeedA = 1;
constexpr std::uint64_t kSeedB = 2;

// The product by its definition, from the numbers and not from what the kernels stored.
template <class T>
std::vector<T> product_of(unsigned rows, unsigned columns, unsigned depth, int most) {
  std::vector<T> product;
  for (std::uint64_t row = 0; row < rows; ++row)
    for (std::uint64_t column = 0; column < columns; ++column) {
      std::int64_t sum = 0;
      for (std::uint64_t k = 0; k < depth; ++k)
        sum += std::int64_t{matrix_number(row * depth + k, kSeedA, most)} *
               matrix_number(column * depth + k, kSeedB, most);
      product.push_back(static_cast<T>(sum));
    }
  return product;
}

struct Shape {
  unsigned tile_rows;
  unsigned tile_columns;
  unsigned depth;
};

// What a kernel makes of matrices that the fill kernels made.
template <class Sum, class In, class Fill, class Gemm>
std::vector<Sum> run_gemm(const Shape& shape, const BlockShape& block, Fill fill, Gemm gemm,
                          First first = First::copies) {
  const std::size_t rows = std::size_t{shape.tile_rows} * block.rows;
  const std::size_t columns = std::size_t{shape.tile_columns} * block.columns;
  std::vector<In> a(rows * shape.depth);
  std::vector<In> b(columns * shape.depth);
  std::vector<Sum> c(rows * columns);
  run_grid(2, kWarpThreads, [&] {
    fill(a.data(), a.size(), kSeedA);
    fill(b.data(), b.size(), kSeedB);
  });
  run_grid(
      shape.tile_rows * shape.tile_columns, block.threads,
      [&] { gemm(c.data(), a.data(), b.data(), shape.tile_rows, shape.tile_columns, shape.depth); }, first);
  return c;
}

// Copies and products may be done at once or as late as the kernel's waits allow: it must wait for both.
class GemmBeside : public testing::TestWithParam<First> {};
INSTANTIATE_TEST_SUITE_P(Gemm, GemmBeside, testing::Values(First::copies, First::products));

TEST_P(GemmBeside, bf16_on_tensor_cores_is_the_product) {
  const Shape shape{.tile_rows = 2, .tile_columns = 1, .depth = 2 * kBf16Depth};
  EXPECT_EQ((run_gemm<float, std::uint16_t>(shape, kBf16Block, fill_bf16, gemm_bf16, GetParam())),
            product_of<float>(2 * kBf16Rows, kBf16Rows, shape.depth, kMostBf16));
}

// So deep that every stage of shared memory is used again.
TEST_P(GemmBeside, bf16_by_warpgroups_is_the_product) {
  const Shape shape{.tile_rows = 2, .tile_columns = 1, .depth = 2 * kWgmmaStages * kWgmmaDepth};
  EXPECT_EQ((run_gemm<float, std::uint16_t>(shape, kWgmmaBlock, fill_bf16, gemm_bf16_wgmma, GetParam())),
            product_of<float>(2 * kWgmmaRows, kWgmmaColumns, shape.depth, kMostBf16));
}

// The least that a launch asks for.
TEST(Gemm, bf16_by_warpgroups_of_two_steps_in_two_columns_is_the_product) {
  const Shape shape{.tile_rows = 1, .tile_columns = 2, .depth = 2 * kWgmmaDepth};
  EXPECT_EQ((run_gemm<float, std::uint16_t>(shape, kWgmmaBlock, fill_bf16, gemm_bf16_wgmma)),
            product_of<float>(kWgmmaRows, 2 * kWgmmaColumns, shape.depth, kMostBf16));
}

TEST(Gemm, double_precision_on_tensor_cores_is_the_product) {
  const Shape shape{.tile_rows = 2, .tile_columns = 2, .depth = 2 * kF64Depth};
  EXPECT_EQ((run_gemm<double, double>(shape, kF64Block, fill_f64, gemm_f64_tensor)),
            product_of<double>(2 * kF64Rows, 2 * kF64Rows, shape.depth, kMostF64));
}

TEST(Gemm, double_precision_by_fused_multiplications_is_the_product) {
  const Shape shape{.tile_rows = 2, .tile_columns = 2, .depth = 2 * kF64Depth};
  EXPECT_EQ((run_gemm<double, double>(shape, kF64Block, fill_f64, gemm_f64_fused)),
            product_of<double>(2 * kF64Rows, 2 * kF64Rows, shape.depth, kMostF64));
}

TEST(Gemm, the_numbers_have_one_right_sum_whatever_the_order) {
  EXPECT_LE(std::int64_t{kMostBf16} * kMostBf16 * kMostDepth, std::int64_t{1} << 24);
  EXPECT_LE(std::int64_t{kMostF64} * kMostF64, (std::int64_t{1} << 53) / kMostDepth);
  for (int number = -kMostBf16; number <= kMostBf16; ++number)
    EXPECT_EQ(from_bf16(to_bf16(static_cast<float>(number))), static_cast<float>(number));
}

}  // namespace
}  // namespace autopilot::probes::gpu::kernels
