// SPDX-License-Identifier: Apache-2.0

#include "core/text.hpp"

#include <gtest/gtest.h>

namespace autopilot {

namespace {

TEST(NearestWord, finds_the_word_that_was_meant) {
  const std::vector<std::string> known{"listen", "socket", "state_dir", "profile"};
  EXPECT_EQ(nearest_word("lisen", known), "listen");
  EXPECT_EQ(nearest_word("state-dir", known), "state_dir");
  EXPECT_EQ(nearest_word("profil", known), "profile");
}

TEST(NearestWord, says_nothing_rather_than_something_far) {
  EXPECT_EQ(nearest_word("colour", {"listen", "socket"}), std::nullopt);
  EXPECT_EQ(nearest_word("", {"a"}), std::nullopt);
  EXPECT_EQ(nearest_word("x", {}), std::nullopt);
  EXPECT_EQ(nearest_word(std::string(100'000, 'a'), {std::string(100'000, 'a')}), std::nullopt);
}

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
