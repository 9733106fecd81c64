// SPDX-License-Identifier: Apache-2.0
#include "core/stable_hash.hpp"

#include <gtest/gtest.h>

namespace autopilot {
namespace {

// Names of objects in clusters depend on it.
TEST(StableHash, is_fnv_1a_of_64_bits) {
  EXPECT_EQ(stable_hash("").hex(), "cbf29ce484222325");
  EXPECT_EQ(stable_hash("a").hex(), "af63dc4c8601ec8c");
}

TEST(StableHash, differs_where_the_parts_differ) {
  StableHash one;
  one.add_part("ab");
  one.add_part("c");
  StableHash other;
  other.add_part("a");
  other.add_part("bc");
  EXPECT_NE(one.value(), other.value());
}

}  // namespace
}  // namespace autopilot
