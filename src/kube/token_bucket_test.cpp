// SPDX-License-Identifier: Apache-2.0
#include "kube/token_bucket.hpp"

#include <gtest/gtest.h>

namespace autopilot::kube {
namespace {

using namespace std::chrono_literals;

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
