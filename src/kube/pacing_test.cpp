// SPDX-License-Identifier: Apache-2.0

#include "kube/pacing.hpp"

#include <gtest/gtest.h>

namespace autopilot::kube {

namespace {

using namespace std::chrono_literals;

constexpr BackOffTimes kBackOffTimes{.first = 1s, .last = 10s, .factor = 2.0, .jitter = 0.5};

TEST(BackOff, waits_longer_with_every_failure_up_to_the_limit) {
  BackOff back_off;
  for (const Duration wait : {1s, 2s, 4s, 8s, 10s, 10s})
    EXPECT_EQ(back_off.fail(kBackOffTimes, 0.0), wait);
  EXPECT_EQ(back_off.failures(), 6U);
}

TEST(BackOff, begins_anew_after_a_success) {
  BackOff back_off;
  (void)back_off.fail(kBackOffTimes, 0.0);
  (void)back_off.fail(kBackOffTimes, 0.0);
  back_off.reset();
  EXPECT_EQ(back_off.failures(), 0U);
  EXPECT_EQ(back_off.fail(kBackOffTimes, 0.0), 1s);
}

TEST(BackOff, jitter_only_lengthens_the_wait_and_at_most_by_its_share) {
  for (const double dice : {0.0, 0.2, 0.5, 0.999}) {
    BackOff back_off;
    const Duration wait = back_off.fail(kBackOffTimes, dice);
    EXPECT_GE(wait, 1s);
    EXPECT_LT(wait, 1500ms);
  }
  BackOff half;
  EXPECT_EQ(half.fail(kBackOffTimes, 0.5), 1250ms);
}

TEST(BackOff, never_tries_before_the_server_wants_it) {
  BackOff back_off;
  EXPECT_EQ(back_off.fail(kBackOffTimes, 0.0, 30s), 30s);
  EXPECT_EQ(back_off.fail(kBackOffTimes, 0.5, 30s), 37500ms);
  EXPECT_EQ(back_off.fail(kBackOffTimes, 0.0, 1s), 4s);  // its own wait is longer
}

TEST(BackOff, a_server_that_asks_for_a_year_or_for_the_past_is_not_obeyed) {
  BackOff back_off;
  EXPECT_EQ(back_off.fail(kBackOffTimes, 0.0, Duration::max()), kLongestRetryAfter);
  EXPECT_EQ(back_off.fail(kBackOffTimes, 0.0, Duration::min()), 2s);
}

TEST(BackOff, thousands_of_failures_do_not_overflow) {
  BackOff back_off;
  for (int i = 0; i < 5000; ++i)
    (void)back_off.fail(kBackOffTimes, 0.0);
  EXPECT_EQ(back_off.fail(kBackOffTimes, 0.0), 10s);
}

const MonoTime kBucketStart{1000s};

int taken_tokens(TokenBucket& bucket, MonoTime now) {
  int count = 0;
  while (count < 1000 && bucket.take(now))
    ++count;
  return count;
}

TEST(TokenBucket, a_burst_passes_and_then_one_at_a_time) {
  TokenBucket bucket(3, 10s);
  EXPECT_EQ(taken_tokens(bucket, kBucketStart), 3);
  EXPECT_EQ(bucket.next(kBucketStart), kBucketStart + 10s);
  EXPECT_EQ(taken_tokens(bucket, kBucketStart + 9999ms), 0);
  EXPECT_EQ(taken_tokens(bucket, kBucketStart + 10s), 1);
  EXPECT_EQ(taken_tokens(bucket, kBucketStart + 30s), 2);
}

TEST(TokenBucket, a_long_rest_fills_it_but_never_beyond_the_burst) {
  TokenBucket bucket(3, 10s);
  EXPECT_EQ(taken_tokens(bucket, kBucketStart), 3);
  EXPECT_EQ(taken_tokens(bucket, kBucketStart + 24h), 3);
}

TEST(TokenBucket, without_spacing_everything_passes) {
  TokenBucket bucket(1, 0s);
  EXPECT_EQ(taken_tokens(bucket, kBucketStart), 1000);
  EXPECT_EQ(bucket.next(kBucketStart), kBucketStart);
}

}  // namespace

}  // namespace autopilot::kube
