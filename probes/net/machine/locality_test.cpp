// SPDX-License-Identifier: Apache-2.0
#include "probes/net/machine/locality.hpp"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sched.h>
#include <thread>

#include "host/files/test_folder.hpp"

namespace autopilot::probes::net {
namespace {

class ReadLocality : public testing::Test {
 protected:
  void write(const std::string& interface, const std::string& node, const std::string& list) const {
    const std::string device = root_ + "/class/net/" + interface + "/device";
    std::filesystem::create_directories(device);
    std::ofstream(device + "/numa_node") << node;
    std::ofstream(device + "/local_cpulist") << list;
  }

  void stand_on(const std::string& upper, const std::string& lower) const {
    std::filesystem::create_directories(root_ + "/class/net/" + upper + "/lower_" + lower);
  }

  const host::TestFolder folder_;
  const std::string& root_ = folder_.path();
};

TEST_F(ReadLocality, an_interface_is_where_its_adapter_is) {
  write("ib0", "1\n", "8-10,24\n");
  const auto found = read_locality("ib0", root_);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->numa_node, 1);
  EXPECT_EQ(found->processors, (std::vector<int>{8, 9, 10, 24}));
}

TEST_F(ReadLocality, a_vlan_on_a_bond_is_where_its_first_adapter_is) {
  write("eth1", "1\n", "4-7\n");
  write("eth0", "0\n", "0-3\n");
  stand_on("bond0", "eth1");
  stand_on("bond0", "eth0");
  stand_on("bond0.7", "bond0");
  EXPECT_EQ(read_locality("bond0.7", root_)->numa_node, 0);
}

TEST_F(ReadLocality, interfaces_that_stand_on_one_another_do_not_go_on_for_ever) {
  stand_on("a", "b");
  stand_on("b", "a");
  EXPECT_FALSE(read_locality("a", root_));
}

TEST_F(ReadLocality, where_the_kernel_does_not_say_there_is_none) {
  EXPECT_FALSE(read_locality("veth0", root_));
  EXPECT_FALSE(read_locality("../../etc", root_));
  EXPECT_FALSE(read_locality("", root_));
  for (const auto& [node, list] :
       {std::pair{"-1\n", "0-3\n"}, {"0\n", ""}, {"0\n", "garbage\n"}, {"zero\n", "0\n"}}) {
    write("ib0", node, list);
    EXPECT_FALSE(read_locality("ib0", root_)) << node << list;
  }
}

// In a thread of its own: what it changes is the thread's.
std::pair<bool, int> after_running_on(const std::vector<int>& processors) {
  std::pair<bool, int> outcome;
  std::thread([&] {
    outcome.first = run_only_on(processors).has_value();
    cpu_set_t set;
    ::sched_getaffinity(0, sizeof set, &set);
    outcome.second = CPU_COUNT(&set);
  }).join();
  return outcome;
}

TEST(RunOnlyOn, leaves_the_processors_that_were_named) {
  const auto allowed = read_allowed_processors();
  ASSERT_FALSE(allowed.empty());
  EXPECT_EQ(after_running_on({allowed.front(), 100000}), (std::pair{true, 1}));
  EXPECT_FALSE(after_running_on({100000}).first);
  EXPECT_FALSE(after_running_on({}).first);
}

}  // namespace
}  // namespace autopilot::probes::net
