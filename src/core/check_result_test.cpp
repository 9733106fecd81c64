// SPDX-License-Identifier: Apache-2.0
#include "core/check_result.hpp"

#include <gtest/gtest.h>
#include <utility>

namespace autopilot {
namespace {

TEST(CheckResults, a_copy_shares_what_nobody_changes) {
  const CheckResults first{{.check = "gpu.ecc"}, {.check = "gpu.xid"}};
  const CheckResults second = first;
  EXPECT_EQ(&first[0], &second[0]);
  EXPECT_EQ(second.back().check, "gpu.xid");
}

TEST(CheckResults, what_is_changed_in_a_copy_stays_as_it_was_in_the_other) {
  const CheckResults first{{.check = "gpu.ecc"}, {.check = "gpu.xid"}};
  CheckResults second = first;
  second[0].health = Health::failed;
  EXPECT_EQ(first[0].health, Health::unknown);
  EXPECT_EQ(second.front().health, Health::failed);
  EXPECT_EQ(&first[1], &std::as_const(second)[1]);
}

}  // namespace
}  // namespace autopilot
