// SPDX-License-Identifier: Apache-2.0
#include "host/ethernet/bond.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "host/files/test_folder.hpp"
#include "host/process/run_program.hpp"

namespace autopilot::host {
namespace {

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
