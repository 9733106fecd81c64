// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/run/meeting.hpp"

#include <atomic>
#include <gtest/gtest.h>
#include <thread>

namespace autopilot::probes::gpu {
namespace {

TEST(Meeting, nobody_goes_on_before_all_have_come) {
  constexpr std::size_t kMembers = 4;
  constexpr int kRounds = 50;
  Meeting meeting(kMembers);
  std::atomic<int> arrivals = 0;
  std::atomic<int> early = 0;
  {
    std::vector<std::jthread> threads;
    for (std::size_t member = 0; member < kMembers; ++member)
      threads.emplace_back([&, member] {
        for (int round = 1; round <= kRounds; ++round) {
          ++arrivals;
          if (!meeting.meet(member) || arrivals < round * static_cast<int>(kMembers)) ++early;
        }
      });
  }
  EXPECT_EQ(early, 0);
}

TEST(Meeting, who_leaves_is_waited_for_no_longer) {
  Meeting meeting(3);
  std::jthread first([&] { EXPECT_TRUE(meeting.meet(0)); });
  std::jthread second([&] { EXPECT_TRUE(meeting.meet(1)); });
  meeting.leave(2);
}

TEST(Meeting, who_was_given_up_learns_it_when_it_comes_at_last) {
  Meeting meeting(2);
  meeting.leave(1);
  EXPECT_TRUE(meeting.meet(0));
  EXPECT_FALSE(meeting.meet(1));
  EXPECT_TRUE(meeting.meet(0));
}

}  // namespace
}  // namespace autopilot::probes::gpu
