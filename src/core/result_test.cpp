// SPDX-License-Identifier: Apache-2.0
#include "core/result.hpp"

#include <cerrno>
#include <gtest/gtest.h>
#include <memory>

namespace autopilot {
namespace {

Result<int> half(int number) {
  if (number % 2 != 0) return fail(Errc::malformed, std::to_string(number) + " is odd");
  return number / 2;
}

Result<int> quarter(int number) {
  const int once = TRY(half(number));
  return TRY(half(once));
}

Status must_be_even(int number, int& reached) {
  TRY_STATUS(half(number));
  ++reached;
  return {};
}

TEST(Result, try_gives_the_value_or_returns_the_first_error) {
  EXPECT_EQ(quarter(12), 3);
  const auto odd = quarter(6);
  ASSERT_FALSE(odd);
  EXPECT_EQ(odd.error().code, Errc::malformed);
  EXPECT_EQ(odd.error().what, "3 is odd");
}

TEST(Result, try_moves_values_that_cannot_be_copied) {
  const auto make = []() -> Result<std::unique_ptr<int>> { return std::make_unique<int>(7); };
  const auto use = [&make]() -> Result<int> {
    const std::unique_ptr<int> owned = TRY(make());
    return *owned;
  };
  EXPECT_EQ(use(), 7);
}

TEST(Result, try_status_stops_at_an_error) {
  int reached = 0;
  EXPECT_TRUE(must_be_even(2, reached));
  EXPECT_FALSE(must_be_even(3, reached));
  EXPECT_EQ(reached, 1);
}

TEST(Result, errno_becomes_what_the_caller_can_do) {
  EXPECT_EQ(errc_of(ENOENT), Errc::not_found);
  EXPECT_EQ(errc_of(ENODEV), Errc::not_found);
  EXPECT_EQ(errc_of(EACCES), Errc::denied);
  EXPECT_EQ(errc_of(EPERM), Errc::denied);
  EXPECT_EQ(errc_of(ETIMEDOUT), Errc::timed_out);
  EXPECT_EQ(errc_of(EOPNOTSUPP), Errc::unsupported);
  EXPECT_EQ(errc_of(ENOSPC), Errc::exhausted);
  EXPECT_EQ(errc_of(EBUSY), Errc::conflict);
  EXPECT_EQ(errc_of(EIO), Errc::unavailable);
  EXPECT_EQ(errc_of(-1), Errc::unavailable);
}

TEST(Result, errno_errors_name_the_object_and_the_cause) {
  const Status failed = fail_errno(ENOENT, "/sys/class/infiniband");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().what, "/sys/class/infiniband: No such file or directory");
}

TEST(Result, every_code_has_its_word) {
  EXPECT_EQ(to_string(Errc::unavailable), "unavailable");
  EXPECT_EQ(to_string(Errc::unsupported), "unsupported");
  EXPECT_EQ(to_string(Errc::timed_out), "timed_out");
  EXPECT_EQ(to_string(Errc::denied), "denied");
  EXPECT_EQ(to_string(Errc::malformed), "malformed");
  EXPECT_EQ(to_string(Errc::not_found), "not_found");
  EXPECT_EQ(to_string(Errc::conflict), "conflict");
  EXPECT_EQ(to_string(Errc::exhausted), "exhausted");
  EXPECT_EQ(to_string(Errc::internal), "internal");
}

TEST(ResultDeathTest, a_broken_assumption_aborts_and_says_where) {
  EXPECT_DEATH(AUTOPILOT_ASSERT(1 + 1 == 3), "assertion failed: 1 \\+ 1 == 3 .*result_test.cpp");
}

}  // namespace
}  // namespace autopilot
