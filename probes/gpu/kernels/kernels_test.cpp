// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <set>

#include "probes/gpu/kernels/block_fixture.hpp"
#include "probes/gpu/kernels/canary.hpp"
#include "probes/gpu/kernels/gemm_bf16.hpp"
#include "probes/gpu/kernels/gemm_bf16_wgmma.hpp"
#include "probes/gpu/kernels/gemm_f64.hpp"
#include "probes/gpu/kernels/memory.hpp"

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

std::vector<Pair> pairs_of(std::size_t count, double value) {
  return std::vector<Pair>(count, Pair{value, value});
}

TEST(Stream, every_kernel_writes_its_whole_buffer_and_nothing_else) {
  constexpr std::size_t kPairs = 1000;  // no multiple of the 64 threads
  std::vector<Pair> in(kPairs);
  auto copy = pairs_of(kPairs + 1, -1);
  auto scale = copy;
  auto triad = copy;
  auto sum = copy;
  run_grid(2, kWarpThreads, [&] { fill_stream(in.data(), kPairs); });
  run_grid(2, kWarpThreads, [&] {
    stream_copy(copy.data(), in.data(), kPairs);
    stream_scale(scale.data(), in.data(), 3, kPairs);
    stream_triad(triad.data(), in.data(), in.data(), 3, kPairs);
    daxpy(sum.data(), in.data(), 3, kPairs);
  });
  for (std::size_t i = 0; i < kPairs; ++i)
    for (unsigned half = 0; half < 2; ++half) {
      const double number = stream_number(2 * i + half);
      ASSERT_EQ(copy[i][half], number);
      ASSERT_EQ(scale[i][half], 3 * number);
      ASSERT_EQ(triad[i][half], 4 * number);
      ASSERT_EQ(sum[i][half], 3 * number - 1);
    }
  for (const auto* out : {&copy, &scale, &triad, &sum})
    EXPECT_EQ((*out)[kPairs][0], -1);
}

PatternResult verify(const std::vector<std::uint64_t>& words, std::uint64_t flip) {
  PatternResult result{.wrong = 0, .first = words.size(), .bits = 0};
  run_grid(2, kWarpThreads, [&] { pattern_verify(words.data(), words.size(), 7, flip, &result); });
  return result;
}

TEST(Pattern, sound_memory_has_no_wrong_word) {
  std::vector<std::uint64_t> words(1000);
  for (const std::uint64_t flip : {std::uint64_t{0}, ~std::uint64_t{0}}) {
    run_grid(2, kWarpThreads, [&] { pattern_write(words.data(), words.size(), 7, flip); });
    EXPECT_EQ(verify(words, flip).wrong, 0U);
  }
}

TEST(Pattern, wrong_words_are_counted_with_the_first_and_their_bits) {
  std::vector<std::uint64_t> words(1000);
  run_grid(2, kWarpThreads, [&] { pattern_write(words.data(), words.size(), 7, 0); });
  words[900] ^= 0x10;
  words[321] ^= 0x1;
  const PatternResult result = verify(words, 0);
  EXPECT_EQ(result.wrong, 2U);
  EXPECT_EQ(result.first, 321U);
  EXPECT_EQ(result.bits, 0x11U);
}

TEST(Pattern, a_word_at_another_address_is_wrong) {
  std::set<std::uint64_t> seen;
  for (std::uint64_t index = 0; index < 100'000; ++index)
    seen.insert(pattern_word(index, 7));
  EXPECT_EQ(seen.size(), 100'000U);
}

std::vector<std::uint64_t> digests(unsigned rounds) {
  std::vector<std::uint64_t> expected;
  for (unsigned thread = 0; thread < kCanaryThreads; ++thread)
    expected.push_back(canary_digest(thread, rounds, 5));
  return expected;
}

// Two blocks, which run on the multiprocessors 0 and 1.
std::vector<CanaryCount> run_canary(unsigned rounds, std::uint64_t wrong_bits_of_second) {
  const auto expected = digests(rounds);
  std::vector<CanaryCount> counts(2);
  run_grid(2, kCanaryThreads, [&] {
    place.multiprocessor = place.block;
    place.wrong_bits = place.block == 1 ? wrong_bits_of_second : 0;
    canary(expected.data(), counts.data(), 2, rounds, 5);
  });
  return counts;
}

TEST(Canary, sound_multiprocessors_give_the_digests_of_the_host) {
  for (const CanaryCount& count : run_canary(100, 0)) {
    EXPECT_EQ(count.threads, kCanaryThreads);
    EXPECT_EQ(count.wrong, 0U);
  }
}

TEST(Canary, one_wrong_bit_is_detected_and_its_multiprocessor_named) {
  const auto counts = run_canary(100, 1);  // the least bit of a double
  EXPECT_EQ(counts[0].wrong, 0U);
  EXPECT_EQ(counts[1].wrong, kCanaryThreads);
  EXPECT_NE(counts[1].bits, 0U);
}

TEST(Spin, it_ends_by_time_or_by_its_flag) {
  std::uint64_t flag = 0;
  run_grid(1, kWarpThreads, [&] {
    place.nanoseconds = 0;
    spin(&flag, 5'000'000);
    EXPECT_GE(place.nanoseconds, 5'000'000U);
  });
  flag = 1;
  run_grid(1, kWarpThreads, [&] {
    spin(&flag, 5'000'000);
    EXPECT_LT(place.nanoseconds, 5'000'000U);
  });
}

TEST(Canary, threads_have_digests_of_their_own) {
  const auto all = digests(10);
  EXPECT_EQ(std::set<std::uint64_t>(all.begin(), all.end()).size(), all.size());
}

}  // namespace

}  // namespace autopilot::probes::gpu::kernels
