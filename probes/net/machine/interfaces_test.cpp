// SPDX-License-Identifier: Apache-2.0
#include "probes/net/machine/interfaces.hpp"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <thread>

#include "tests/support/host/test_folder.hpp"

namespace autopilot::probes::net {
namespace {

TEST(Address, has_the_format_of_the_kernel) {
  EXPECT_EQ(parse_address("10.0.0.1")->text, "10.0.0.1");
  EXPECT_EQ(parse_address("2001:DB8:0::01")->text, "2001:db8::1");
  EXPECT_EQ(parse_address("fe80::1%eth0")->text, "fe80::1%eth0");
  EXPECT_EQ(parse_address("fe80::1%eth0")->zone, "eth0");
}

TEST(Address, a_name_or_half_of_an_address_is_refused) {
  const std::string long_zone = "fe80::1%" + std::string(16, 'a');
  for (const std::string text :
       {"", "node-a", "10.0.0", "10.0.0.1 ", "10.0.0.256", "::1%", "10.0.0.1%eth0", "fe80::1%a b",
        "2001:db8::1%eth0", "fe80::1%a%b", "1::2::3", "-s", "fe80::1%a/b"})
    EXPECT_FALSE(parse_address(text)) << text;
  EXPECT_FALSE(parse_address(long_zone));
  EXPECT_FALSE(parse_address(std::string("10.0.0.1\0x", 10)));
  EXPECT_FALSE(parse_address(std::string(100000, '1')));
}

TEST(Address, the_zone_does_not_change_the_machine) {
  EXPECT_TRUE(is_same_address(*parse_address("fe80::1%a"), *parse_address("fe80::1%b")));
  EXPECT_FALSE(is_same_address(*parse_address("fe80::1"), *parse_address("fe80::2")));
  EXPECT_FALSE(is_same_address(*parse_address("0.0.0.0"), *parse_address("::")));
}

Address address(std::string_view text) {
  return *parse_address(text);
}

const std::vector<InterfaceAddress> kKnown = {{"lo", address("127.0.0.1")},
                                              {"ib0", address("fe80::1%ib0")},
                                              {"ib0", address("2001:db8::1")},
                                              {"ib0", address("10.0.0.1")},
                                              {"ib1", address("fe80::1%ib1")}};

TEST(Interfaces, an_address_has_one_interface) {
  EXPECT_EQ(interface_of(kKnown, address("10.0.0.1")), "ib0");
  EXPECT_EQ(interface_of(kKnown, address("fe80::1%ib1")), "ib1");
  EXPECT_EQ(interface_of(kKnown, address("10.0.0.2")), std::nullopt);
}

TEST(Interfaces, the_source_is_one_from_which_the_target_can_be_reached) {
  EXPECT_EQ(address_on(kKnown, "ib0", address("10.9.9.9"))->text, "10.0.0.1");
  EXPECT_EQ(address_on(kKnown, "ib0", address("2001:db8::9"))->text, "2001:db8::1");
  EXPECT_EQ(address_on(kKnown, "ib0", address("fe80::9%ib0"))->text, "fe80::1%ib0");
  EXPECT_FALSE(address_on(kKnown, "ib1", address("10.9.9.9")));
  EXPECT_FALSE(address_on(kKnown, "ib7", address("10.9.9.9")));
}

TEST(Interfaces, the_kernel_has_a_route_to_this_machine) {
  const auto known = read_interface_addresses();
  ASSERT_TRUE(known);
  if (!interface_of(*known, address("127.0.0.1"))) GTEST_SKIP() << "needs a loopback interface that is up";
  EXPECT_EQ(read_source_towards(address("127.0.0.1"))->text, "127.0.0.1");
}

TEST(InterfaceTowards, this_machine_is_reached_over_loopback) {
  const auto here = *parse_address("127.0.0.1");
  EXPECT_EQ(interface_towards(here, here).value_or("none"), "lo");
}

TEST(InterfaceTowards, an_address_of_another_machine_has_no_route) {
  const auto way = interface_towards(*parse_address("192.0.2.1"), *parse_address("127.0.0.1"));
  ASSERT_FALSE(way);
  EXPECT_THAT(way.error().what, testing::HasSubstr("the route from 192.0.2.1 to 127.0.0.1"));
}

class ReadLocality : public testing::Test {
 protected:
  void write(const std::string& interface, const std::string& node, const std::string& list) const {
    const std::string device = root_ + "/class/net/" + interface + "/device";
    std::filesystem::create_directories(device);
    std::ofstream(device + "/numa_node") << node;
    std::ofstream(device + "/local_cpulist") << list;
  }

  void put_on(const std::string& upper, const std::string& lower) const {
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
  put_on("bond0", "eth1");
  put_on("bond0", "eth0");
  put_on("bond0.7", "bond0");
  EXPECT_EQ(read_locality("bond0.7", root_)->numa_node, 0);
}

TEST_F(ReadLocality, a_cycle_of_interfaces_ends) {
  put_on("a", "b");
  put_on("b", "a");
  EXPECT_FALSE(read_locality("a", root_));
}

TEST_F(ReadLocality, without_data_of_the_kernel_it_is_unknown) {
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
