// SPDX-License-Identifier: Apache-2.0
#include "controller/attempts.hpp"

#include <gtest/gtest.h>

namespace autopilot::controller {
namespace {

using namespace std::chrono_literals;

const MonoTime kStart{1h};

TEST(Attempts, come_later_with_every_failure) {
  Attempts attempts([] { return 0.0; });
  EXPECT_TRUE(attempts.may_try("evict", kStart));
  EXPECT_EQ(attempts.next(kStart), std::nullopt);
  attempts.failed("evict", kStart, {});
  EXPECT_FALSE(attempts.may_try("evict", kStart));
  EXPECT_TRUE(attempts.may_try("cordon", kStart));
  EXPECT_EQ(attempts.next(kStart), kStart + 1s);
  EXPECT_TRUE(attempts.may_try("evict", kStart + 1s));
  attempts.failed("evict", kStart + 1s, {});
  EXPECT_EQ(attempts.next(kStart + 1s), kStart + 3s);
  for (int i = 0; i < 20; ++i)
    attempts.failed("evict", kStart, {});
  EXPECT_EQ(attempts.next(kStart), kStart + 5min);
  EXPECT_TRUE(attempts.succeeded("evict"));
  EXPECT_FALSE(attempts.succeeded("evict"));
  EXPECT_TRUE(attempts.may_try("evict", kStart));
}

TEST(Attempts, wait_as_long_as_the_server_wants) {
  Attempts attempts([] { return 0.0; });
  attempts.failed("evict", kStart, 10s);
  EXPECT_EQ(attempts.next(kStart), kStart + 10s);
}

TEST(Attempts, of_too_many_those_that_are_due_first_are_forgotten) {
  Attempts attempts([] { return 0.0; });
  attempts.failed("first", kStart, {});
  for (std::size_t i = 1; i < Attempts::kMost; ++i)
    attempts.failed(std::to_string(i), kStart + 1min, {});
  EXPECT_FALSE(attempts.may_try("first", kStart));
  attempts.failed("one more", kStart + 1min, {});
  EXPECT_TRUE(attempts.may_try("first", kStart));
  EXPECT_FALSE(attempts.may_try("one more", kStart));
}

}  // namespace
}  // namespace autopilot::controller
