// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/builtin.hpp"
#include "tests/fakes/fake_host.hpp"

namespace autopilot::checks {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

struct FakeEthernet : host::Ethernet {
  std::vector<host::EthernetLink> present;
  bool is_denied = false;
  [[nodiscard]] Result<std::vector<host::EthernetLink>> links(MonoTime) const override {
    if (is_denied) return fail(Errc::denied, "netlink: Operation not permitted");
    return present;
  }
};

host::EthernetLink physical(const std::string& name) {
  host::EthernetLink link;
  link.name = name;
  link.is_physical = true;
  link.is_up = true;
  link.has_carrier = true;
  link.operational_state = "up";
  link.speed_mbps = 25'000;
  link.duplex = "full";
  link.carrier_changes = 3;
  return link;
}

class NetworkEthernetLink : public ::testing::Test {
 protected:
  Findings look(Duration later = 30s) {
    empty_.clock.advance(later);
    const Instant now = empty_.clock.now();
    auto observed = kNetworkEthernetLink.observe(host_, {.now = now, .deadline = now.mono + 5s});
    EXPECT_TRUE(observed);
    history_.add(observed->observations, kNetworkEthernetLink.info.window);
    return kNetworkEthernetLink.judge({now, history_, catalog::builtin(), expectation_});
  }
  std::vector<std::string> reasons(Duration later = 30s) {
    std::vector<std::string> words;
    for (const auto& finding : look(later))
      words.push_back(finding.subject.key + " " + finding.reason + " " +
                      std::string(to_string(finding.health)));
    return words;
  }
  host::EthernetLink& link(std::size_t index = 0) { return ethernet_.present[index]; }

  fakes::EmptyHost empty_;
  FakeEthernet ethernet_;
  host::Host host_{empty_.clock,       empty_.files, empty_.kernel_log, empty_.gpus,
                   empty_.filesystems, ethernet_,    empty_.time_sync,  empty_.nvme};
  History history_;
  Expectation expectation_;
};

TEST_F(NetworkEthernetLink, a_machine_without_interfaces_or_with_sound_ones_is_healthy) {
  EXPECT_THAT(reasons(), IsEmpty());
  ethernet_.present = {physical("eno1"), physical("eno2")};
  EXPECT_THAT(reasons(), IsEmpty());
}

TEST_F(NetworkEthernetLink, a_lost_link_fails_the_interface) {
  ethernet_.present = {physical("eno1")};
  link().has_carrier = false;
  EXPECT_THAT(reasons(), ElementsAre("eno1 link_down failed"));
}

TEST_F(NetworkEthernetLink, a_lost_member_of_a_bond_is_degraded) {
  ethernet_.present = {physical("eno1")};
  link().has_carrier = false;
  link().bond_master = "bond0";
  EXPECT_THAT(reasons(), ElementsAre("eno1 link_down degraded"));
}

TEST_F(NetworkEthernetLink, what_is_switched_off_never_plugged_in_virtual_or_ignored_is_no_fault) {
  ethernet_.present = {physical("off"), physical("unused"), physical("vethabc"), physical("known")};
  for (auto& each : ethernet_.present)
    each.has_carrier = false;
  link(0).is_up = false;
  link(1).carrier_changes = 1;
  link(2).is_physical = false;
  expectation_.ignored_interfaces = {"known"};
  EXPECT_THAT(reasons(), IsEmpty());
}

TEST_F(NetworkEthernetLink, what_the_configuration_expects_must_be_there_and_up) {
  ethernet_.present = {physical("off"), physical("unused"), physical("bond0")};
  for (auto& each : ethernet_.present)
    each.has_carrier = false;
  link(0).is_up = false;
  link(1).carrier_changes = 1;
  link(2).is_physical = false;
  expectation_.expected_interfaces = {"off", "unused", "bond0", "gone", "mlx5_0/1"};
  EXPECT_THAT(reasons(), ElementsAre("off link_down failed", "unused link_down failed",
                                     "bond0 link_down failed", "gone interface_missing failed"));
}

TEST_F(NetworkEthernetLink, repeated_changes_within_the_window_are_flapping) {
  ethernet_.present = {physical("eno1")};
  EXPECT_THAT(reasons(), IsEmpty());
  link().carrier_changes += 2;  // unplugged and plugged in again, once
  EXPECT_THAT(reasons(), IsEmpty());
  link().carrier_changes += 2;
  EXPECT_THAT(reasons(), ElementsAre("eno1 link_flapping degraded"));
  EXPECT_THAT(reasons(20min), IsEmpty());
}

TEST_F(NetworkEthernetLink, slow_and_half_duplex_links_are_degraded) {
  ethernet_.present = {physical("eno1"), physical("virtio")};
  link(0).speed_mbps = 100;
  link(0).duplex = "half";
  link(1).speed_mbps.reset();
  link(1).duplex = "unknown";
  EXPECT_THAT(reasons(), ElementsAre("eno1 link_speed_low degraded", "eno1 half_duplex degraded"));
}

TEST_F(NetworkEthernetLink, errors_count_when_they_come_all_the_time) {
  ethernet_.present = {physical("eno1")};
  link().rx_errors = 1'000'000;  // history
  EXPECT_THAT(reasons(), IsEmpty());
  link().rx_errors += 30;
  EXPECT_THAT(reasons(2s), IsEmpty());
  link().rx_errors += 200;
  EXPECT_THAT(reasons(30s), ElementsAre("eno1 link_errors degraded"));
}

TEST_F(NetworkEthernetLink, leaves_interfaces_of_infiniband_to_their_port) {
  ethernet_.present = {physical("ibp24s0")};
  link().has_carrier = false;
  link().is_infiniband = true;
  EXPECT_THAT(reasons(), IsEmpty());
}

TEST_F(NetworkEthernetLink, an_interface_that_could_not_be_read_is_unknown_and_hides_no_other) {
  ethernet_.present = {physical("eno1"), physical("eno2"), physical("eno3")};
  link(0).problem = Error{Errc::malformed, "/sys/class/net/eno1/flags: not an integer"};
  link(0).is_up = false;
  link(1).has_carrier = false;
  EXPECT_THAT(reasons(), ElementsAre("eno1 could_not_look unknown", "eno2 link_down failed"));
  expectation_.ignored_interfaces = {"eno1", "eno2"};
  EXPECT_THAT(reasons(), IsEmpty());
}

TEST_F(NetworkEthernetLink, passes_on_why_it_cannot_look) {
  ethernet_.is_denied = true;
  const Instant now = empty_.clock.now();
  EXPECT_EQ(kNetworkEthernetLink.observe(host_, {.now = now, .deadline = now.mono}).error().code,
            Errc::denied);
}

TEST_F(NetworkEthernetLink, hundreds_of_container_interfaces_stay_within_the_history) {
  for (int i = 0; i < 2000; ++i) {
    ethernet_.present.push_back(physical("veth" + std::to_string(i)));
    ethernet_.present.back().is_physical = false;
  }
  ethernet_.present.push_back(physical("eno1"));
  link(2000).has_carrier = false;
  EXPECT_THAT(reasons(), ElementsAre("eno1 link_down failed"));
  EXPECT_EQ(history_.dropped(), 0U);
}

}  // namespace
}  // namespace autopilot::checks
