// SPDX-License-Identifier: Apache-2.0
#include "jobs/detectors/network.hpp"

#include <gtest/gtest.h>
#include <limits>

namespace autopilot::jobs {
namespace {

constexpr float kPortRate = 5e10F;

// Nodes with four rails, eight nodes below a leaf.
class PortFleet {
 public:
  explicit PortFleet(int nodes, int nodes_of_leaf = 8)
      : nodes_(nodes), detector_(ports_of(nodes, nodes_of_leaf)) {
    reset();
  }
  void reset() { minute_.assign(static_cast<std::size_t>(nodes_ * kRails), healthy()); }
  PortMinute& at(int node, int rail) { return minute_[static_cast<std::size_t>(node * kRails + rail)]; }
  std::vector<NetworkFinding> pass(int minutes = 1, const std::vector<NoisyPort>& elsewhere = {}) {
    std::vector<NetworkFinding> found;
    for (int minute = 0; minute < minutes; ++minute)
      found = detector_.add(minute_, WallTime{}, elsewhere);
    return found;
  }
  const std::vector<NoisyPort>& noisy() const { return detector_.noisy(); }
  static PortMinute healthy() {
    PortMinute minute;
    minute.tx_bytes_s = minute.rx_bytes_s = 1e10F;
    minute.rate_bytes_s = kPortRate;
    minute.up = 1;
    minute.link_downed = minute.errors = minute.pause = 0;
    minute.retransmits = 1;
    minute.cnp = 20;
    return minute;
  }
  static std::vector<NetworkPort> ports_of(int nodes, int nodes_of_leaf) {
    std::vector<NetworkPort> ports;
    for (int node = 0; node < nodes; ++node)
      for (int rail = 0; rail < kRails; ++rail)
        ports.push_back({"gpu-" + std::to_string(node), "mlx5_" + std::to_string(rail),
                         "leaf-" + std::to_string(node / nodes_of_leaf), rail, kPortRate});
    return ports;
  }
  static constexpr int kRails = 4;

 private:
  int nodes_;
  std::vector<PortMinute> minute_;
  NetworkDetector detector_;
};

void expect_one(const std::vector<NetworkFinding>& findings, NetworkFault fault, const std::string& culprit) {
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].fault, fault) << to_string(findings[0].fault);
  EXPECT_EQ(to_string(findings[0].culprit), culprit);
  EXPECT_FALSE(findings[0].evidence.empty());
}

TEST(Network, healthy_ports_give_no_findings) {
  PortFleet fleet(16);
  EXPECT_TRUE(fleet.pass(30).empty());
}

TEST(Network, a_port_that_is_not_active_accuses_its_nic_at_once) {
  PortFleet fleet(16);
  fleet.at(5, 2).up = 0;
  const auto found = fleet.pass();
  expect_one(found, NetworkFault::link_down, "mlx5_2 of gpu-5");
  EXPECT_TRUE(is_accusing(found[0].fault));
  EXPECT_EQ(found[0].evidence[0].signal, "nic_down");
  fleet.reset();
  EXPECT_TRUE(fleet.pass().empty());
}

TEST(Network, a_rail_that_was_never_plugged_in_is_not_a_fault) {
  PortFleet fleet(4);
  for (int node = 0; node < 4; ++node)
    fleet.at(node, 3).up = 0;
  EXPECT_TRUE(fleet.pass(10).empty());
}

TEST(Network, a_port_below_the_rate_of_its_rail_accuses_its_nic) {
  PortFleet fleet(16);
  fleet.at(5, 2).rate_bytes_s = kPortRate / 2;
  const auto found = fleet.pass();
  expect_one(found, NetworkFault::link_speed, "mlx5_2 of gpu-5");
  EXPECT_EQ(found[0].evidence[0].text,
            "mlx5_2 of gpu-5: line rate of the port is 25.0 GB/s, the median of the peers is 50.0 GB/s");
}

TEST(Network, a_node_that_is_built_with_slower_nics_is_healthy) {
  std::vector<NetworkPort> ports = PortFleet::ports_of(4, 8);
  std::vector<PortMinute> minutes(16, PortFleet::healthy());
  for (std::size_t at = 0; at < 4; ++at)
    ports[at].line_rate_bytes_s = minutes[at].rate_bytes_s = kPortRate / 2;
  NetworkDetector detector(ports);
  EXPECT_TRUE(detector.add(minutes, WallTime{}).empty());
}

TEST(Network, one_link_down_is_tolerated_and_two_within_five_minutes_are_flapping) {
  PortFleet fleet(16);
  fleet.at(5, 2).link_downed = 1;
  const auto found = fleet.pass();
  expect_one(found, NetworkFault::link_bounce, "mlx5_2 of gpu-5");
  EXPECT_FALSE(is_accusing(found[0].fault));
  fleet.reset();
  EXPECT_TRUE(fleet.pass(3).empty());
  fleet.at(5, 2).link_downed = 1;
  expect_one(fleet.pass(), NetworkFault::flapping, "mlx5_2 of gpu-5");
  fleet.reset();
  EXPECT_TRUE(fleet.pass(5).empty());
}

TEST(Network, retransmissions_accuse_the_nic_after_three_minutes) {
  PortFleet fleet(16);
  fleet.at(5, 2).retransmits = 400;
  EXPECT_TRUE(fleet.pass(2).empty());
  const auto found = fleet.pass();
  expect_one(found, NetworkFault::retransmits, "mlx5_2 of gpu-5");
  EXPECT_EQ(found[0].evidence[0].signal, "nic_retransmits_high");
  fleet.reset();
  EXPECT_TRUE(fleet.pass(5).empty());
}

TEST(Network, few_retransmissions_or_as_many_as_the_rail_are_healthy) {
  PortFleet fleet(16);
  fleet.at(5, 2).retransmits = 9;
  EXPECT_TRUE(fleet.pass(10).empty());
  for (int node = 0; node < 16; ++node)
    fleet.at(node, 2).retransmits = 300.0F + 40.0F * static_cast<float>(node);
  EXPECT_TRUE(fleet.pass(10).empty());
}

TEST(Network, a_job_on_two_nodes_finds_the_port_with_errors) {
  PortFleet fleet(2, 1);
  fleet.at(1, 0).errors = 100;
  expect_one(fleet.pass(3), NetworkFault::retransmits, "mlx5_0 of gpu-1");
}

TEST(Network, many_faulty_ports_below_one_leaf_accuse_the_leaf_and_no_node) {
  PortFleet fleet(32);
  for (int node = 8; node < 12; ++node)
    fleet.at(node, 1).retransmits = 500;
  const auto found = fleet.pass(3);
  expect_one(found, NetworkFault::leaf, "leaf leaf-1");
  EXPECT_TRUE(found[0].culprit.is_accused());
  EXPECT_EQ(found[0].evidence[0].text, "4 of 8 ports of rail 1 below leaf leaf-1 have a fault");
}

TEST(Network, ports_that_only_exchange_data_with_a_faulty_port_do_not_accuse_the_leaf) {
  PortFleet fleet(32);
  fleet.at(8, 1).retransmits = 2000;
  fleet.at(9, 1).retransmits = fleet.at(15, 1).retransmits = 60;
  for (const NetworkFinding& each : fleet.pass(3)) {
    EXPECT_EQ(each.fault, NetworkFault::retransmits);
    EXPECT_EQ(each.culprit.kind, EntityKind::nic);
  }
}

// Windows cut long steps at different places, and the program moves its traffic.
TEST(Network, traffic_that_falls_below_one_leaf_is_not_enough_to_accuse_it) {
  PortFleet fleet(32);
  EXPECT_TRUE(fleet.pass(10).empty());
  for (int node = 8; node < 16; ++node)
    for (int rail = 0; rail < PortFleet::kRails; ++rail)
      fleet.at(node, rail).tx_bytes_s = fleet.at(node, rail).rx_bytes_s = 5e9F;
  EXPECT_TRUE(fleet.pass(3).empty());
}

TEST(Network, errors_in_turn_on_ports_of_one_leaf_accuse_the_leaf) {
  PortFleet fleet(32);
  fleet.pass(5);
  fleet.at(8, 0).errors = fleet.at(9, 1).errors = fleet.at(10, 2).errors = 40;
  expect_one(fleet.pass(4), NetworkFault::leaf, "leaf leaf-1");
}

TEST(Network, the_first_port_of_a_faulty_leaf_is_not_accused) {
  PortFleet fleet(32);
  fleet.at(8, 0).errors = 40;
  EXPECT_TRUE(fleet.pass(1).empty());
  fleet.at(9, 1).errors = fleet.at(10, 2).errors = 40;
  EXPECT_TRUE(fleet.pass(2).empty()) << "one port has errors for three minutes, and others have them as well";
  expect_one(fleet.pass(1), NetworkFault::leaf, "leaf leaf-1");
}

// Two ports of the leaf have errors in one minute of four.
int accused_minutes(PortFleet& fleet, float errors_of_others, int minutes) {
  int accused = 0;
  for (int minute = 0; minute < minutes; ++minute) {
    fleet.at(9, 1).errors = fleet.at(10, 2).errors = minute % 4 == 0 ? errors_of_others : 0;
    const auto found = fleet.pass();
    accused += found.size() == 1 && to_string(found[0].culprit) == "mlx5_0 of gpu-8" ? 1 : 0;
  }
  return accused;
}

TEST(Network, a_port_with_errors_is_accused_beside_ports_with_far_fewer) {
  PortFleet fleet(32);
  fleet.at(8, 0).errors = 5000;
  EXPECT_EQ(accused_minutes(fleet, 12, 60), 58);
}

TEST(Network, a_port_whose_errors_last_is_not_held_for_ever) {
  PortFleet fleet(32);
  fleet.at(8, 0).errors = 50;
  EXPECT_EQ(accused_minutes(fleet, 40, 60), 53);
}

TEST(Network, the_last_port_of_a_leaf_that_recovers_is_not_accused) {
  PortFleet fleet(32);
  for (int rail = 0; rail < 3; ++rail)
    fleet.at(8 + rail, rail).errors = 40;
  expect_one(fleet.pass(4), NetworkFault::leaf, "leaf leaf-1");
  fleet.at(8, 0).errors = fleet.at(9, 1).errors = 0;
  for (int minute = 0; minute < 4; ++minute)
    for (const NetworkFinding& each : fleet.pass())
      EXPECT_NE(each.culprit.kind, EntityKind::nic) << minute;
}

TEST(Network, errors_that_ended_accuse_no_port_whose_other_counter_is_unknown) {
  PortFleet fleet(16);
  fleet.at(5, 2).errors = 40;
  fleet.at(5, 2).retransmits = kMissing;
  expect_one(fleet.pass(3), NetworkFault::retransmits, "mlx5_2 of gpu-5");
  fleet.at(5, 2).errors = 0;
  EXPECT_TRUE(fleet.pass().empty());
}

TEST(Network, two_faulty_ports_below_one_leaf_are_accused) {
  PortFleet fleet(32);
  fleet.at(8, 0).errors = fleet.at(9, 1).errors = 40;
  EXPECT_EQ(fleet.pass(3).size(), 2U);
}

// The job has one node below each leaf.
TEST(Network, errors_of_most_ports_of_a_lone_node_may_be_those_of_its_leaf) {
  PortFleet fleet(4, 1);
  for (int rail = 0; rail < PortFleet::kRails; ++rail)
    fleet.at(2, rail).errors = 40;
  EXPECT_TRUE(fleet.pass(10).empty());
  EXPECT_EQ(fleet.noisy().size(), 4U);
  EXPECT_EQ(fleet.noisy()[0].leaf, "leaf-2");
  EXPECT_TRUE(fleet.noisy()[0].holds_errors);

  std::vector<NoisyPort> elsewhere{{"other", "mlx5_0", "leaf-2", 40, 0, true, false},
                                   {"other", "mlx5_0", "leaf-9", 40, 0, true, false}};
  const auto found = fleet.pass(1, elsewhere);
  expect_one(found, NetworkFault::leaf, "leaf leaf-2");
  EXPECT_EQ(found[0].evidence[0].text,
            "4 of 4 ports below leaf leaf-2 have a fault, and 1 of other jobs, on 2 nodes");
}

TEST(Network, errors_on_nodes_of_other_jobs_only_are_no_fault_of_this_one) {
  PortFleet fleet(4, 1);
  const std::vector<NoisyPort> elsewhere(5, {"other", "mlx5_0", "leaf-2", 40, 0, true, false});
  EXPECT_TRUE(fleet.pass(10, elsewhere).empty());
  EXPECT_TRUE(fleet.noisy().empty());
}

TEST(Network, one_port_of_a_lone_node_is_accused) {
  PortFleet fleet(4, 1);
  fleet.at(2, 1).errors = 40;
  expect_one(fleet.pass(3), NetworkFault::retransmits, "mlx5_1 of gpu-2");
}

TEST(Network, notifications_on_the_ports_of_a_lone_node_are_congestion) {
  PortFleet fleet(4, 1);
  for (int rail = 0; rail < PortFleet::kRails; ++rail)
    fleet.at(2, rail).cnp = 50000;
  expect_one(fleet.pass(3), NetworkFault::congestion, "unlocalised");
  fleet.at(2, 0).cnp = 20;
  fleet.at(2, 0).errors = 500;
  for (const NetworkFinding& each : fleet.pass(3))
    EXPECT_NE(each.fault, NetworkFault::congestion) << "a port with errors is not congestion";
}

// The nodes of a pipeline stage are often below one leaf.
TEST(Network, a_stage_with_less_traffic_from_the_beginning_is_healthy) {
  PortFleet fleet(32);
  for (int node = 8; node < 16; ++node)
    for (int rail = 0; rail < PortFleet::kRails; ++rail)
      fleet.at(node, rail).tx_bytes_s = 2e9F;
  EXPECT_TRUE(fleet.pass(60).empty());
}

TEST(Network, a_job_that_slows_as_a_whole_accuses_no_part_of_the_network) {
  PortFleet fleet(32);
  fleet.pass(10);
  for (int node = 0; node < 32; ++node)
    for (int rail = 0; rail < PortFleet::kRails; ++rail)
      fleet.at(node, rail).tx_bytes_s = 4e9F;
  EXPECT_TRUE(fleet.pass(20).empty());
}

TEST(Network, notifications_below_a_leaf_with_other_jobs_are_congestion_and_accuse_no_part) {
  PortFleet fleet(32);
  fleet.pass(10);
  for (int node = 8; node < 16; ++node)
    for (int rail = 0; rail < PortFleet::kRails; ++rail) {
      fleet.at(node, rail).cnp = 50000;
      fleet.at(node, rail).tx_bytes_s = 4e9F;
      fleet.at(node, rail).jobs_on_leaf = 2;
    }
  const auto found = fleet.pass(3);
  expect_one(found, NetworkFault::congestion, "unlocalised");
  EXPECT_FALSE(is_accusing(found[0].fault));
  fleet.at(9, 0).errors = 500;
  const auto both = fleet.pass(3);
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(to_string(both[0].culprit), "mlx5_0 of gpu-9");
  EXPECT_EQ(both[1].fault, NetworkFault::congestion);
}

TEST(Network, pause_frames_below_a_leaf_with_other_jobs_are_congestion) {
  PortFleet fleet(32);
  for (int node = 8; node < 16; ++node) {
    fleet.at(node, 1).pause = 50000;
    fleet.at(node, 1).cnp = kMissing;
    fleet.at(node, 1).jobs_on_leaf = 2;
  }
  expect_one(fleet.pass(3), NetworkFault::congestion, "unlocalised");
}

TEST(Network, faults_below_most_leaves_at_once_name_no_leaf) {
  PortFleet fleet(32);
  for (int node = 0; node < 32; ++node)
    if (node % 8 < 4 && node < 24) fleet.at(node, 1).retransmits = 500;
  const auto found = fleet.pass(3);
  for (const NetworkFinding& each : found)
    EXPECT_FALSE(each.culprit.is_accused()) << to_string(each.fault);
}

TEST(Network, a_port_that_carries_less_than_its_node_is_a_suspicion) {
  PortFleet fleet(16);
  fleet.at(5, 2).tx_bytes_s = fleet.at(5, 2).rx_bytes_s = 6e9F;
  EXPECT_TRUE(fleet.pass(7).empty());
  const auto found = fleet.pass();
  expect_one(found, NetworkFault::asymmetric, "mlx5_2 of gpu-5");
  EXPECT_FALSE(is_accusing(found[0].fault));
}

TEST(Network, a_rail_that_carries_less_on_all_nodes_is_healthy) {
  PortFleet fleet(16);
  for (int node = 0; node < 16; ++node)
    fleet.at(node, 3).tx_bytes_s = 1e9F;
  EXPECT_TRUE(fleet.pass(30).empty());
}

TEST(Network, unknown_values_accuse_no_part) {
  const float endless = std::numeric_limits<float>::infinity();
  NetworkDetector detector(PortFleet::ports_of(16, 8));
  EXPECT_TRUE(detector.add({}, WallTime{}).empty());
  PortMinute strange;
  strange.up = strange.rate_bytes_s = -endless;
  strange.tx_bytes_s = strange.retransmits = strange.errors = strange.cnp = strange.link_downed = endless;
  const std::vector<PortMinute> minutes(64, strange);
  for (int minute = 0; minute < 20; ++minute)
    EXPECT_TRUE(detector.add(minutes, WallTime{}).empty());
  NetworkDetector empty({});
  EXPECT_TRUE(empty.add(minutes, WallTime{}).empty());
}

TEST(Network, unknown_minutes_do_not_end_a_fault) {
  PortFleet fleet(16);
  fleet.at(5, 2).retransmits = 400;
  fleet.pass(3);
  fleet.at(5, 2) = PortMinute{};
  EXPECT_EQ(fleet.pass(4).size(), 1U);
}

TEST(Network, ports_without_a_leaf_are_judged_by_themselves) {
  std::vector<NetworkPort> ports = PortFleet::ports_of(4, 8);
  for (NetworkPort& port : ports)
    port.leaf.clear();
  std::vector<PortMinute> minutes(16, PortFleet::healthy());
  minutes[0].up = minutes[4].up = 0;
  NetworkDetector detector(ports);
  const auto found = detector.add(minutes, WallTime{});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].culprit.node, "gpu-0");
  EXPECT_EQ(found[1].culprit.node, "gpu-1");
}

TEST(Network, evidence_and_ports_are_limited) {
  PortFleet fleet(64, 64);
  for (int node = 0; node < 64; ++node)
    fleet.at(node, 1).errors = node < 30 ? 500.0F : 0.0F;
  const auto found = fleet.pass(3);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].evidence.size(), NetworkFinding::kMaxEvidence);

  std::vector<NetworkPort> ports(NetworkDetector::kMaxPorts + 1, {"gpu-0", "mlx5_0", "", 0, kPortRate});
  std::vector<PortMinute> minutes(ports.size(), PortFleet::healthy());
  minutes.back().up = 0;
  NetworkDetector detector(ports);
  EXPECT_TRUE(detector.add(minutes, WallTime{}).empty());
}

}  // namespace
}  // namespace autopilot::jobs
