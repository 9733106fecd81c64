// SPDX-License-Identifier: Apache-2.0
#include "controller/attempts.hpp"

#include <gtest/gtest.h>

namespace autopilot::controller {
namespace {

using namespace std::chrono_literals;

const MonoTime kNow{1h};

TEST(Attempts, come_later_with_every_failure) {
  Attempts attempts([] { return 0.0; });
  EXPECT_TRUE(attempts.may_try("evict", kNow));
  EXPECT_EQ(attempts.next(kNow), std::nullopt);
  attempts.failed("evict", kNow, {});
  EXPECT_FALSE(attempts.may_try("evict", kNow));
  EXPECT_TRUE(attempts.may_try("cordon", kNow));
  EXPECT_EQ(attempts.next(kNow), kNow + 1s);
  EXPECT_TRUE(attempts.may_try("evict", kNow + 1s));
  attempts.failed("evict", kNow + 1s, {});
  EXPECT_EQ(attempts.next(kNow + 1s), kNow + 3s);
  for (int i = 0; i < 20; ++i)
    attempts.failed("evict", kNow, {});
  EXPECT_EQ(attempts.next(kNow), kNow + 5min);
  EXPECT_TRUE(attempts.succeeded("evict"));
  EXPECT_FALSE(attempts.succeeded("evict"));
  EXPECT_TRUE(attempts.may_try("evict", kNow));
}

TEST(Attempts, wait_as_long_as_the_server_wants) {
  Attempts attempts([] { return 0.0; });
  attempts.failed("evict", kNow, 10s);
  EXPECT_EQ(attempts.next(kNow), kNow + 10s);
}

TEST(Attempts, of_too_many_those_that_are_due_first_are_forgotten) {
  Attempts attempts([] { return 0.0; });
  attempts.failed("first", kNow, {});
  for (std::size_t i = 1; i < Attempts::kMost; ++i)
    attempts.failed(std::to_string(i), kNow + 1min, {});
  EXPECT_FALSE(attempts.may_try("first", kNow));
  attempts.failed("one more", kNow + 1min, {});
  EXPECT_TRUE(attempts.may_try("first", kNow));
  EXPECT_FALSE(attempts.may_try("one more", kNow));
}

}  // namespace
}  // namespace autopilot::controller
