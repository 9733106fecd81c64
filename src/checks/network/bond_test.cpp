// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/builtin.hpp"
#include "tests/fakes/fake_host.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::checks {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

class NetworkBond : public ::testing::Test {
 protected:
  void write(const std::string& file, const std::string& text) const {
    folder_.write("/sys/class/net/" + file, text + "\n");
  }
  void add_bond(const std::string& name, const std::vector<std::string>& members) const {
    write(name + "/bonding/mode", "802.3ad 4");
    write(name + "/bonding/ad_aggregator", "1");
    write(name + "/bonding/ad_partner_mac", "00:1c:73:aa:bb:cc");
    write(name + "/flags", "0x1443");
    std::string names;
    for (const std::string& member : members) {
      names += member + " ";
      set(member, "up");
      write(member + "/bonding_slave/ad_aggregator_id", "1");
    }
    write(name + "/bonding/slaves", names);
  }
  void set(const std::string& member, const std::string& link) const {
    write(member + "/bonding_slave/mii_status", link);
  }
  Result<Observed> observe() {
    const Instant now = empty_.clock.now();
    return kNetworkBond.observe(host_, {.now = now, .deadline = now.mono + 5s});
  }
  std::vector<std::string> words() {
    empty_.clock.advance(30s);
    auto observed = observe();
    if (!observed) return {observed.error().what};
    history_.add(std::move(observed->observations), kNetworkBond.info.window);
    std::vector<std::string> list;
    for (const Finding& finding :
         kNetworkBond.judge({empty_.clock.now(), history_, catalog::builtin(), expectation_}))
      list.push_back(std::string(to_string(finding.health)) + " " + finding.reason + ": " + finding.message);
    return list;
  }

  host::TestFolder folder_;
  fakes::EmptyHost empty_;
  host::Files files_{folder_.path()};
  host::Host host_{empty_.clock,       files_,          empty_.kernel_log, empty_.gpus,
                   empty_.filesystems, empty_.ethernet, empty_.time_sync,  empty_.nvme};
  History history_;
  Expectation expectation_;
};

TEST_F(NetworkBond, is_unsupported_without_one) {
  EXPECT_EQ(observe().error().code, Errc::unavailable);
  write("eth0/operstate", "up");
  EXPECT_EQ(observe().error().code, Errc::unsupported);
}

TEST_F(NetworkBond, lost_members_degrade_and_no_member_fails) {
  add_bond("bond0", {"eth0", "eth1"});
  EXPECT_THAT(words(), IsEmpty());
  set("eth1", "down");
  EXPECT_THAT(words(), ElementsAre("degraded bond_degraded: bond0 lost a member: eth1 is down"));
  set("eth0", "going down");
  EXPECT_THAT(words(), ElementsAre("failed bond_down: bond0 has no member with a link (eth0 is going down, "
                                   "eth1 is down)"));
}

TEST_F(NetworkBond, what_is_switched_off_or_ignored_is_no_fault) {
  add_bond("bond0", {"eth0", "eth1"});
  set("eth1", "down");
  expectation_.ignored_interfaces = {"eth1"};
  EXPECT_THAT(words(), IsEmpty());
  expectation_.ignored_interfaces = {"bond0"};
  EXPECT_THAT(words(), IsEmpty());
  expectation_.ignored_interfaces = {};
  write("bond0/flags", "0x1402");
  EXPECT_THAT(words(), IsEmpty());
}

TEST_F(NetworkBond, lacp_that_leaves_a_member_out_is_told) {
  add_bond("bond0", {"eth0", "eth1"});
  write("eth1/bonding_slave/ad_aggregator_id", "2");
  EXPECT_THAT(words(), ElementsAre("degraded bond_lacp: bond0 does not carry traffic over eth1: LACP put it "
                                   "into another aggregator"));
  write("bond0/bonding/ad_partner_mac", "00:00:00:00:00:00");
  EXPECT_THAT(words(), ElementsAre("degraded bond_lacp: bond0 gets no LACP answer from the switch: only "
                                   "one member carries traffic"));
}

TEST_F(NetworkBond, each_bond_has_its_own_members_and_one_that_is_garbage_hides_no_other) {
  add_bond("bond0", {"eth0"});
  add_bond("bond1", {"eth1"});
  add_bond("bond2", {});
  set("eth1", "down");
  write("bond0/flags", "?");
  const auto found = words();
  ASSERT_EQ(found.size(), 3U);
  EXPECT_TRUE(found[0].starts_with("unknown could_not_look: bond0"));
  EXPECT_TRUE(found[1].starts_with("failed bond_down: bond1"));
  EXPECT_EQ(found[2], "degraded bond_degraded: bond2 has no member");
}

}  // namespace
}  // namespace autopilot::checks
