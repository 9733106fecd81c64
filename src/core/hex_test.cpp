// SPDX-License-Identifier: Apache-2.0
#include "core/hex.hpp"

#include <gtest/gtest.h>

namespace autopilot {
namespace {

using namespace std::string_literals;

TEST(Hex, has_two_digits_for_each_byte_and_back) {
  EXPECT_EQ(to_hex("\x0d\0\xff"s), "0d00ff");
  EXPECT_EQ(from_hex("0d00FF"), "\x0d\0\xff"s);
  EXPECT_EQ(to_hex(""), "");
  EXPECT_EQ(from_hex(""), "");
}

TEST(Hex, is_nothing_else) {
  for (const char* text : {"0", "0d0", "0x", "zz", "-1", "+1", " 1", "0d 0"})
    EXPECT_FALSE(from_hex(text)) << text;
}

}  // namespace
}  // namespace autopilot
