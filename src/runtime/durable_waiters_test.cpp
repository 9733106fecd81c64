// SPDX-License-Identifier: Apache-2.0
#include "runtime/durable_waiters.hpp"

#include <gtest/gtest.h>
#include <string>

namespace autopilot::runtime {
namespace {

using namespace std::chrono_literals;

class DurableWaitersTest : public ::testing::Test {
 protected:
  void wait_for(std::uint64_t batch, Duration patience) {
    waiters_.add(batch, MonoTime{patience},
                 [this, batch](bool durable) { told_ += std::to_string(batch) + (durable ? "+" : "-"); });
  }

  DurableWaiters waiters_;
  std::string told_;
};

TEST_F(DurableWaitersTest, are_told_once_when_their_batch_is_settled) {
  wait_for(3, 10s);
  wait_for(5, 10s);
  waiters_.settle(4, true);
  EXPECT_EQ(told_, "3+");
  waiters_.settle(5, false);
  EXPECT_EQ(told_, "3+5-");
  EXPECT_FALSE(waiters_.next());
}

TEST_F(DurableWaitersTest, lose_patience_each_at_its_own_time) {
  wait_for(1, 20s);
  wait_for(2, 10s);
  EXPECT_EQ(waiters_.next(), MonoTime{10s});
  waiters_.give_up(MonoTime{10s});
  EXPECT_EQ(told_, "2-");
  EXPECT_EQ(waiters_.next(), MonoTime{20s});
}

TEST_F(DurableWaitersTest, may_ask_again_while_they_are_told) {
  waiters_.add(1, MonoTime{10s}, [this](bool) { wait_for(1, 30s); });
  waiters_.settle(1, true);
  EXPECT_EQ(told_, "");
  waiters_.settle(1, true);
  EXPECT_EQ(told_, "1+");
}

}  // namespace
}  // namespace autopilot::runtime
