// SPDX-License-Identifier: Apache-2.0
#include "runtime/seen_resets.hpp"

#include <gtest/gtest.h>

#include "checks/kernel_log/reset_evidence.hpp"

namespace autopilot::runtime {
namespace {

using namespace std::chrono_literals;

Subject gpu_at(const std::string& address) {
  return {SubjectKind::gpu, address, std::nullopt, "", ""};
}

TEST(SeenResets, the_last_of_each_gpu_outlives_a_restart_in_the_same_boot) {
  SeenResets before("boot-a", "");
  before.add(gpu_at("0000:1b:00.0"), MonoTime{10s});
  before.add(gpu_at("0000:43:00.0"), MonoTime{20s});
  before.add(gpu_at("0000:1b:00.0"), MonoTime{30s});
  const SeenResets after("boot-a", before.to_text());
  const Observations events = after.events({WallTime{1000s}, MonoTime{100s}});
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].time.mono, MonoTime{30s});
  EXPECT_EQ(events[0].time.wall, WallTime{930s});
  const auto seen = checks::reset_in(events[0]);
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->gpu.key, "0000:1b:00.0");
  EXPECT_FALSE(seen->injected);
  EXPECT_TRUE(SeenResets("boot-b", before.to_text()).events({}).empty());
}

TEST(SeenResets, what_cannot_be_read_is_left_out) {
  for (const std::string_view text : {"", "boot-a", "boot-a ", "boot-a x", "boot-a =5",
                                      "boot-a x=", "boot-a x=y", "boot-ab 0000:1b:00.0=5"})
    EXPECT_TRUE(SeenResets("boot-a", text).events({}).empty()) << text;
  EXPECT_EQ(SeenResets("boot-a", "boot-a x=y  0000:1b:00.0=5 ").events({}).size(), 1U);
}

}  // namespace
}  // namespace autopilot::runtime
