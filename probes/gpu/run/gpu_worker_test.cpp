// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/run/gpu_worker.hpp"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sched.h>
#include <thread>

namespace autopilot::probes::gpu {
namespace {

TEST(Meeting, no_member_continues_before_all_have_arrived) {
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

TEST(Meeting, a_member_that_left_is_not_waited_for) {
  Meeting meeting(3);
  std::jthread first([&] { EXPECT_TRUE(meeting.meet(0)); });
  std::jthread second([&] { EXPECT_TRUE(meeting.meet(1)); });
  meeting.leave(2);
}

TEST(Meeting, a_late_member_learns_that_it_was_removed) {
  Meeting meeting(2);
  meeting.leave(1);
  EXPECT_TRUE(meeting.meet(0));
  EXPECT_FALSE(meeting.meet(1));
  EXPECT_TRUE(meeting.meet(0));
}

constexpr const char* kAddress = "0000:3b:00.0";

class StayNear : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/sysfs-XXXXXX";
    root_ = ::mkdtemp(pattern.data());
    device_ = root_ + "/bus/pci/devices/" + kAddress;
    std::filesystem::create_directories(device_);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(device_ + "/" + name) << text;
  }

  // In a thread of its own: what it changes is the thread's.
  [[nodiscard]] std::pair<std::optional<int>, int> stay() const {
    std::pair<std::optional<int>, int> outcome;
    std::thread([&] {
      outcome.first = stay_near(kAddress, root_);
      cpu_set_t set;
      sched_getaffinity(0, sizeof set, &set);
      outcome.second = CPU_COUNT(&set);
    }).join();
    return outcome;
  }

  std::string root_;
  std::string device_;
};

int allowed_processor() {
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  int processor = 0;
  while (!CPU_ISSET(static_cast<std::size_t>(processor), &set))
    ++processor;
  return processor;
}

TEST_F(StayNear, the_thread_stays_on_the_processors_of_the_device) {
  write("numa_node", "1\n");
  write("local_cpulist", std::to_string(allowed_processor()) + "\n");
  const auto [node, processors] = stay();
  EXPECT_EQ(node, 1);
  EXPECT_EQ(processors, 1);
}

TEST_F(StayNear, nothing_changes_without_data_of_the_kernel) {
  const int before = stay().second;
  write("numa_node", "-1\n");  // of a machine without nodes
  write("local_cpulist", "0\n");
  EXPECT_EQ(stay(), (std::pair<std::optional<int>, int>{std::nullopt, before}));
  write("numa_node", "0\n");
  for (const char* list : {"", "garbage", "99999", "3-1"}) {
    write("local_cpulist", list);
    EXPECT_EQ(stay(), (std::pair<std::optional<int>, int>{std::nullopt, before})) << list;
  }
}

}  // namespace

}  // namespace autopilot::probes::gpu
