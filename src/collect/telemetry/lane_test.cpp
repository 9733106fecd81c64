// SPDX-License-Identifier: Apache-2.0
#include "collect/telemetry/lane.hpp"

#include <future>
#include <gtest/gtest.h>

namespace autopilot::collect::lane_test {
namespace {

TEST(Lane, a_read_that_hangs_is_not_repeated) {
  std::promise<void> release;
  const auto released = release.get_future().share();
  std::atomic<int> reads = 0;
  Lane<int, int> lane([&reads, released](const int& request) {
    ++reads;
    released.wait();
    return request * 2;
  });
  EXPECT_FALSE(lane.take());
  EXPECT_TRUE(lane.ask(21));
  EXPECT_FALSE(lane.ask(1)) << "a second read was started";
  EXPECT_TRUE(lane.is_busy());
  release.set_value();
  while (lane.is_busy())
    std::this_thread::yield();
  EXPECT_FALSE(lane.ask(1)) << "an answer would be lost";
  EXPECT_EQ(lane.take(), 42);
  EXPECT_EQ(reads, 1);
  EXPECT_TRUE(lane.ask(2));
}

}  // namespace
}  // namespace autopilot::collect::lane_test
