// SPDX-License-Identifier: Apache-2.0
#include "host/ethernet/ethernet.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>
#include <vector>

#include "tests/support/host/run_program.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::host {
namespace {

const EthernetLink* find(const std::vector<EthernetLink>& links, const std::string& name) {
  const auto found = std::find_if(links.begin(), links.end(),
                                  [&name](const EthernetLink& link) { return link.name == name; });
  return found == links.end() ? nullptr : &*found;
}

Result<std::vector<EthernetLink>> links_of(const std::string& root) {
  const Files files(root);
  return SysfsEthernet(files).links({});
}

[[nodiscard]] bool ip_link(std::vector<std::string> words) {
  words.insert(words.begin(), {"ip", "link"});
  return run_program(words).empty();
}

// A pair of connected interfaces of this kernel.
class VethPair {
 public:
  VethPair() : made_(ip_link({"add", a, "type", "veth", "peer", "name", b})) {}
  VethPair(const VethPair&) = delete;
  VethPair& operator=(const VethPair&) = delete;
  ~VethPair() {
    if (made_) (void)ip_link({"del", a});
  }
  [[nodiscard]] bool made() const { return made_; }

  const std::string a = "apa" + std::to_string(::getpid());
  const std::string b = "apb" + std::to_string(::getpid());

 private:
  bool made_;
};

TEST(NetlinkEthernet, sees_a_real_link_lose_its_carrier) {
  const VethPair pair;
  if (!pair.made()) GTEST_SKIP() << "cannot make a veth pair: needs root, iproute2 and the veth driver";
  const Files files;
  const NetlinkEthernet door(files);
  ASSERT_TRUE(ip_link({"set", pair.a, "up"}) && ip_link({"set", pair.b, "up"}));
  const auto up = door.links({});
  ASSERT_TRUE(up) << up.error().what;
  ASSERT_NE(find(*up, pair.a), nullptr);
  EXPECT_TRUE(find(*up, pair.a)->is_up);
  EXPECT_TRUE(find(*up, pair.a)->has_carrier);
  EXPECT_EQ(find(*up, pair.a)->driver_kind, "veth");
  EXPECT_FALSE(find(*up, pair.a)->is_physical);

  ASSERT_TRUE(ip_link({"set", pair.b, "down"}));
  const auto down = door.links({});
  ASSERT_TRUE(down) << down.error().what;
  EXPECT_TRUE(find(*down, pair.a)->is_up);
  EXPECT_FALSE(find(*down, pair.a)->has_carrier);
  EXPECT_GT(find(*down, pair.a)->carrier_changes, find(*up, pair.a)->carrier_changes);
}

TEST(NetlinkEthernet, agrees_with_sysfs_about_this_machine) {
  const Files files;
  const auto netlink = NetlinkEthernet(files).links({});
  const auto sysfs = SysfsEthernet(files).links({});
  ASSERT_TRUE(netlink) << netlink.error().what;
  if (!sysfs) GTEST_SKIP() << "no /sys/class/net here: " << sysfs.error().what;
  ASSERT_EQ(netlink->size(), sysfs->size());
  for (const EthernetLink& link : *sysfs) {
    const EthernetLink* other = find(*netlink, link.name);
    ASSERT_NE(other, nullptr) << link.name;
    EXPECT_EQ(other->is_up, link.is_up) << link.name;
    EXPECT_EQ(other->has_carrier, link.has_carrier) << link.name;
    EXPECT_EQ(other->mtu, link.mtu) << link.name;
    EXPECT_EQ(other->pci_address, link.pci_address) << link.name;
  }
}

class SysfsTree : public ::testing::Test {
 protected:
  SysfsTree() {
    std::string pattern = "/tmp/autopilot-ethernet-XXXXXX";
    root_ = ::mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root_ + path).substr(0, (root_ + path).rfind('/')));
    std::ofstream(root_ + path) << text;
  }
  std::string root_;
};

TEST_F(SysfsTree, garbage_is_the_problem_of_its_interface_alone) {
  for (const std::string name : {"eth0", "eth1", "eth2", "eth3"}) {
    write("/sys/class/net/" + name + "/operstate", "up\n");
    write("/sys/class/net/" + name + "/flags", "0x1003\n");
    write("/sys/class/net/" + name + "/carrier", "1\n");
    write("/sys/class/net/" + name + "/speed", "-1\n");
  }
  write("/sys/class/net/eth0/flags", "\xff\xfe\n");
  write("/sys/class/net/eth1/carrier", "yes\n");
  write("/sys/class/net/eth2/statistics/rx_errors", "lots\n");
  const auto links = links_of(root_);
  ASSERT_TRUE(links) << links.error().what;
  ASSERT_EQ(links->size(), 4U);
  const char* const files[] = {"eth0/flags", "eth1/carrier", "eth2/statistics/rx_errors"};
  for (std::size_t i = 0; i < 3; ++i) {
    ASSERT_TRUE((*links)[i].problem) << files[i];
    EXPECT_EQ((*links)[i].problem->code, Errc::malformed);
    EXPECT_NE((*links)[i].problem->what.find(files[i]), std::string::npos);
  }
  EXPECT_FALSE(links->back().problem) << "counters that this kernel does not have are none";
  EXPECT_TRUE(links->back().has_carrier);
  EXPECT_FALSE(links->back().speed_mbps);
}

TEST_F(SysfsTree, an_interface_that_nobody_can_place_has_a_problem) {
  const Files files(root_);
  EthernetLink link;
  link.name = "eth0";
  link.is_up = true;
  EthernetLink veth = link;
  veth.driver_kind = "veth";
  EthernetLink off = link;
  off.is_up = false;
  for (EthernetLink* each : {&link, &veth, &off})
    add_hardware(files, *each);
  ASSERT_TRUE(link.problem);
  EXPECT_EQ(link.problem->code, Errc::unavailable);
  EXPECT_FALSE(veth.problem) << "netlink says what it is";
  EXPECT_FALSE(off.problem) << "nobody wants it up";
}

TEST_F(SysfsTree, the_pci_device_is_found_above_a_virtio_device) {
  write("/sys/devices/pci0000:00/0000:00:04.0/virtio1/uevent", "");
  write("/sys/class/net/eth0/operstate", "up\n");
  std::filesystem::create_symlink("../../../devices/pci0000:00/0000:00:04.0/virtio1",
                                  root_ + "/sys/class/net/eth0/device");
  const Files files(root_);
  const auto links = SysfsEthernet(files).links({});
  ASSERT_TRUE(links) << links.error().what;
  EXPECT_TRUE(links->front().is_physical);
  EXPECT_EQ(links->front().pci_address, "0000:00:04.0");
}

TEST_F(SysfsTree, no_network_at_all_is_an_empty_list_and_no_sysfs_an_error) {
  EXPECT_FALSE(links_of(root_));
  std::filesystem::create_directories(root_ + "/sys");
  const auto links = links_of(root_);
  ASSERT_TRUE(links);
  EXPECT_TRUE(links->empty());
}

class Bonds : public testing::Test {
 protected:
  void write(const std::string& file, const std::string& text) const {
    folder_.write("/sys/class/net/" + file, text + "\n");
  }
  void write_lacp_bond() const {
    write("bond0/bonding/mode", "802.3ad 4");
    write("bond0/bonding/slaves", "eth0 eth1");
    write("bond0/bonding/ad_aggregator", "1");
    write("bond0/bonding/ad_partner_mac", "00:1c:73:aa:bb:cc");
    write("bond0/flags", "0x1443");
    write("eth0/bonding_slave/mii_status", "up");
    write("eth0/bonding_slave/ad_aggregator_id", "1");
    write("eth1/bonding_slave/mii_status", "going down");
    write("eth1/bonding_slave/ad_aggregator_id", "2");
    write("eth2/operstate", "up");
  }

  const TestFolder folder_;
  const Files files_{folder_.path()};
};

TEST_F(Bonds, are_read_with_members_and_lacp) {
  write_lacp_bond();
  const auto bonds = scan_bonds(files_);
  ASSERT_TRUE(bonds) << bonds.error().what;
  ASSERT_EQ(bonds->size(), 1U);
  const Bond& bond = bonds->front();
  EXPECT_EQ(bond.name, "bond0");
  EXPECT_EQ(bond.mode, "802.3ad");
  EXPECT_TRUE(bond.is_up);
  EXPECT_EQ(bond.aggregator, 1);
  EXPECT_EQ(bond.has_partner, true);
  ASSERT_EQ(bond.members.size(), 2U);
  EXPECT_EQ(bond.members[0].link, "up");
  EXPECT_EQ(bond.members[1].link, "going down");
  EXPECT_EQ(bond.members[1].aggregator, 2);
}

TEST_F(Bonds, of_other_modes_have_no_lacp_and_a_silent_switch_is_told) {
  write_lacp_bond();
  write("bond0/bonding/ad_partner_mac", "00:00:00:00:00:00");
  EXPECT_EQ(scan_bonds(files_)->front().has_partner, false);
  write("bond0/bonding/mode", "active-backup 1");
  write("bond0/bonding/ad_partner_mac", "");
  write("bond0/bonding/ad_aggregator", "");
  EXPECT_EQ(scan_bonds(files_)->front().has_partner, std::nullopt);
  EXPECT_EQ(scan_bonds(files_)->front().aggregator, std::nullopt);
}

TEST_F(Bonds, none_is_told_from_no_sysfs_and_garbage_hides_no_other) {
  EXPECT_EQ(scan_bonds(files_).error().code, Errc::unavailable);
  write("eth2/operstate", "up");
  EXPECT_TRUE(scan_bonds(files_)->empty());
  write_lacp_bond();
  write("bond1/bonding/mode", "802.3ad 4");
  write("bond1/bonding/slaves", "");
  write("bond1/flags", "what");
  const auto bonds = scan_bonds(files_).value();
  ASSERT_EQ(bonds.size(), 2U);
  EXPECT_FALSE(bonds[0].problem);
  ASSERT_TRUE(bonds[1].problem);
  EXPECT_EQ(bonds[1].problem->code, Errc::malformed);
}

TEST(BondsOfThisKernel, are_seen_with_their_members) {
  const std::string id = std::to_string(::getpid());
  const auto run = [](const std::string& command) { return run_program({"sh", "-c", command}).empty(); };
  const std::string bond = "apbd" + id;
  const std::string near = "apbn" + id;
  const std::string far = "apbf" + id;
  if (!run("ip link add " + bond + " type bond mode active-backup miimon 50"))
    GTEST_SKIP() << "cannot make a bond: needs root, iproute2 and the bonding driver";
  const bool made = run("ip link add " + near + " type veth peer name " + far) &&
                    run("ip link set " + near + " master " + bond) && run("ip link set " + bond + " up") &&
                    run("ip link set " + near + " up && ip link set " + far + " up");
  const Files files;
  const auto bonds = scan_bonds(files);
  run("ip link del " + bond + "; ip link del " + near);
  ASSERT_TRUE(made);
  ASSERT_TRUE(bonds) << bonds.error().what;
  ASSERT_EQ(bonds->size(), 1U);
  EXPECT_EQ(bonds->front().mode, "active-backup");
  ASSERT_EQ(bonds->front().members.size(), 1U);
  EXPECT_EQ(bonds->front().members[0].name, near);
}

}  // namespace
}  // namespace autopilot::host
