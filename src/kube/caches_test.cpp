// SPDX-License-Identifier: Apache-2.0
#include "kube/caches.hpp"

#include <gtest/gtest.h>

namespace autopilot::kube {
namespace {

TEST(RecentMap, remembers_what_was_asked_for_lately) {
  RecentMap<int> map(2);
  map.get("a", 0) = 1;
  map.get("b", 0) = 2;
  EXPECT_EQ(map.get("a", 0), 1);
  map.get("c", 0) = 3;  // b is the oldest
  EXPECT_EQ(map.get("a", 0), 1);
  EXPECT_EQ(map.get("c", 0), 3);
  EXPECT_EQ(map.size(), 2U);
  EXPECT_EQ(map.forgotten(), 1U);
  EXPECT_EQ(map.get("b", 7), 7);
}

}  // namespace
}  // namespace autopilot::kube
