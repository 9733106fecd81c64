// SPDX-License-Identifier: Apache-2.0
#include "host/netlink/interfaces.hpp"

#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/host/test_folder.hpp"

namespace autopilot::host {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> names(const std::vector<OwnAddress>& addresses) {
  std::vector<std::string> found;
  for (const OwnAddress& one : addresses)
    found.push_back(one.interface);
  return found;
}

class InterfacesTest : public ::testing::Test {
 protected:
  // `what`: "device", or "lower_eth0" of an interface that stands on another.
  void add(const std::string& interface, const std::string& what = "") {
    std::filesystem::create_directories(folder_.path() + "/sys/class/net/" + interface + "/" + what);
    all_.push_back({interface, "10.1.0.7", 1500});
  }
  [[nodiscard]] std::vector<std::string> found(const std::vector<std::string>& wanted = {}) const {
    return names(addresses_for_peers(host::Files(folder_.path()), all_, wanted));
  }

  host::TestFolder folder_;
  std::vector<OwnAddress> all_;
};

TEST_F(InterfacesTest, bridges_of_containers_are_not_what_others_reach) {
  add("eth0", "device");
  add("docker0");
  add("cni0", "lower_veth12");
  add("veth12");
  add("flannel.1");
  EXPECT_THAT(found(), ElementsAre("eth0"));
}

TEST_F(InterfacesTest, what_stands_on_a_device_counts) {
  add("eth0", "device");
  add("bond0", "lower_eth0");
  add("br0", "lower_bond0");
  add("bond0.17", "lower_bond0");
  EXPECT_THAT(found(), ElementsAre("eth0", "bond0", "br0", "bond0.17"));
}

// The network of a pod has no devices at all.
TEST_F(InterfacesTest, where_nothing_is_a_device_all_count) {
  add("eth0");
  add("net1-0");
  EXPECT_THAT(found(), ElementsAre("eth0", "net1-0"));
}

TEST_F(InterfacesTest, those_that_are_named_count_and_no_others) {
  add("eth0", "device");
  add("docker0");
  EXPECT_THAT(found({"docker0", "eth7"}), ElementsAre("docker0"));
}

// Interfaces may stand on each other in a circle while they are changed.
TEST_F(InterfacesTest, a_circle_is_no_device) {
  add("a", "lower_b");
  add("b", "lower_a");
  add("eth0", "device");
  EXPECT_THAT(found(), ElementsAre("eth0"));
}

TEST(LineRate, is_what_the_kernel_says_where_there_is_a_link) {
  host::TestFolder folder;
  folder.write("/sys/class/net/ib0/speed", "400000\n");
  folder.write("/sys/class/net/down/speed", "-1\n");
  folder.write("/sys/class/net/odd/speed", "4294967295\n");
  const host::Files files(folder.path());
  EXPECT_EQ(line_rate(files, "ib0"), 400'000'000'000U);
  for (const char* interface : {"down", "odd", "not_there"})
    EXPECT_EQ(line_rate(files, interface), 0U) << interface;
}

TEST(OwnAddresses, the_loopback_is_not_among_them) {
  const auto own = read_own_addresses();
  ASSERT_TRUE(own) << own.error().what;
  for (const OwnAddress& one : *own) {
    EXPECT_NE(one.interface, "lo");
    EXPECT_FALSE(one.address.starts_with("127."));
    EXPECT_FALSE(one.address.starts_with("fe80"));
    EXPECT_GT(one.mtu, 0U) << one.interface;
  }
}

TEST(OwnAddresses, towards_this_machine_leads_the_loopback) {
  const std::vector<OwnAddress> own{{"eth0", "10.1.0.1", 1500, 24}, {"lo", "127.0.0.1", 65536, 8}};
  EXPECT_EQ(own_way_towards(*parse_internet_address("127.0.0.1"), own).own, &own[1]);
  EXPECT_GT(own_way_towards(*parse_internet_address("127.0.0.1"), own).mtu, 0U);
}

TEST(OwnAddresses, a_neighbour_has_the_first_bits_in_common) {
  const std::vector<OwnAddress> own{
      {"eth0", "10.1.0.1", 1500, 24}, {"eth1", "10.1.1.65", 1500, 26}, {"eth2", "fd00:2::1", 1500, 64}};
  const auto neighbour = [&own](const std::string& address) {
    return own_neighbour_of(*parse_internet_address(address), own);
  };
  EXPECT_EQ(neighbour("10.1.0.200"), &own[0]);
  EXPECT_EQ(neighbour("10.1.1.127"), &own[1]);
  EXPECT_EQ(neighbour("10.1.1.128"), nullptr);
  EXPECT_EQ(neighbour("10.1.2.1"), nullptr);
  EXPECT_EQ(neighbour("fd00:2::7"), &own[2]);
  EXPECT_EQ(neighbour("fd00:3::7"), nullptr);
}

}  // namespace
}  // namespace autopilot::host
