// SPDX-License-Identifier: Apache-2.0
#include "core/nearest.hpp"

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

}  // namespace
}  // namespace autopilot
