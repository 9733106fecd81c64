// SPDX-License-Identifier: Apache-2.0
#include "nccl/exchange.hpp"

#include <array>
#include <cstdint>
#include <gtest/gtest.h>

namespace autopilot::simulator::nccl {
namespace {

TEST(Windows, a_small_buffer_is_exchanged_as_a_whole) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{8}, 3 * kWindowBytes}) {
    const auto windows = windows_of(bytes);
    ASSERT_EQ(windows.size(), 1U);
    EXPECT_EQ(windows[0].bytes, bytes);
  }
}

TEST(Windows, of_a_large_one_no_two_overlap) {
  for (const std::size_t bytes : {3 * kWindowBytes + 4, std::size_t{12} << 20}) {
    const auto windows = windows_of(bytes);
    ASSERT_EQ(windows.size(), 3U);
    EXPECT_EQ(windows[0].offset, 0U);
    EXPECT_LE(windows[0].bytes, windows[1].offset);
    EXPECT_LE(windows[1].offset + windows[1].bytes, windows[2].offset);
    EXPECT_EQ(windows[2].offset + windows[2].bytes, bytes);
    EXPECT_EQ(windows[2].offset % 4, 0U);
  }
}

TEST(Windows, elements_are_reduced_by_their_type) {
  std::array<float, 2> floats{1, 5};
  const std::array<float, 2> more{2, 3};
  reduce(std::as_writable_bytes(std::span(floats)), std::as_bytes(std::span(more)), abi::kFloat32, abi::kSum);
  EXPECT_EQ(floats, (std::array<float, 2>{3, 8}));
  std::array<std::uint64_t, 1> word{~std::uint64_t{0}};
  const std::array<std::uint64_t, 1> one{1};
  reduce(std::as_writable_bytes(std::span(word)), std::as_bytes(std::span(one)), abi::kUint64, abi::kMax);
  EXPECT_EQ(word[0], ~std::uint64_t{0});
  reduce(std::as_writable_bytes(std::span(word)), std::as_bytes(std::span(one)), abi::kUint64, abi::kMin);
  EXPECT_EQ(word[0], 1U);
}

TEST(Windows, an_unknown_type_has_no_size) {
  EXPECT_EQ(size_of(abi::kFloat32), 4U);
  EXPECT_EQ(size_of(0), 0U);
}

}  // namespace
}  // namespace autopilot::simulator::nccl
