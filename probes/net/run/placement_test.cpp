// SPDX-License-Identifier: Apache-2.0
#include "probes/net/run/placement.hpp"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

#include "host/files/test_folder.hpp"

namespace autopilot::probes::net {
namespace {

Address address(std::string_view text) {
  return *parse_address(text);
}

class PlacementTest : public testing::Test {
 protected:
  void SetUp() override {
    machine_.sysfs = folder_.path();
    machine_.processors = {0, 1, 2, 3, 4, 5};
    machine_.addresses = {
        {"ib0", address("10.0.0.1")}, {"ib0", address("2001:db8::1")}, {"ib1", address("10.0.1.1")}};
    machine_.source = address("10.0.1.1");
    const std::string device = machine_.sysfs + "/class/net/ib0/device";
    std::filesystem::create_directories(device);
    std::ofstream(device + "/numa_node") << "1\n";
    std::ofstream(device + "/local_cpulist") << "4-7\n";
    options_.to = address("10.0.0.2");
    options_.ports = {5201};
  }

  Plan plan() {
    const auto made = plan_of(options_, machine_);
    EXPECT_TRUE(std::holds_alternative<Plan>(made));
    return std::holds_alternative<Plan>(made) ? std::get<Plan>(made) : Plan{};
  }
  Reason reason() {
    const auto made = plan_of(options_, machine_);
    EXPECT_TRUE(std::holds_alternative<Failure>(made));
    return std::holds_alternative<Failure>(made) ? std::get<Failure>(made).reason : Reason::internal;
  }

  const host::TestFolder folder_;
  Machine machine_;
  MeasureOptions options_;
};

TEST_F(PlacementTest, each_process_has_the_next_port) {
  options_.processes = 3;
  const auto tests = plan().tests;
  ASSERT_EQ(tests.size(), 3U);
  EXPECT_EQ(tests[0].port, 5201);
  EXPECT_EQ(tests[2].port, 5203);
  options_.ports = {7000, 7005, 7003};
  EXPECT_EQ(plan().tests[1].port, 7005);
}

TEST_F(PlacementTest, a_limit_is_of_all_streams_together) {
  options_.processes = 4;
  options_.streams = 5;
  options_.bits_per_second = 10'000'000'000;
  EXPECT_EQ(plan().tests[0].stream_bits_per_second, 500'000'000U);
}

TEST_F(PlacementTest, without_a_choice_the_kernel_chooses) {
  const Plan made = plan();
  EXPECT_EQ(made.address, "10.0.1.1");
  EXPECT_EQ(made.interface, "ib1");
  EXPECT_FALSE(made.tests[0].source);
  EXPECT_FALSE(made.tests[0].interface);
}

TEST_F(PlacementTest, a_named_interface_is_the_only_path) {
  options_.interface = "ib0";
  EXPECT_EQ(plan().tests[0].interface, "ib0");
  EXPECT_EQ(plan().tests[0].source, "10.0.0.1");
  options_.to = address("2001:db8::2");
  EXPECT_EQ(plan().tests[0].source, "2001:db8::1");
}

TEST_F(PlacementTest, addresses_of_other_machines_are_refused) {
  options_.interface = "ib7";
  EXPECT_EQ(reason(), Reason::no_address);
  options_.interface.reset();
  options_.bind = address("10.0.0.9");
  EXPECT_EQ(reason(), Reason::no_address);
}

TEST_F(PlacementTest, processes_run_near_the_adapter_if_allowed) {
  options_.interface = "ib0";
  options_.processes = 2;
  options_.pinning.is_near_interface = true;
  EXPECT_EQ(plan().placement.numa_node, 1);
  EXPECT_EQ(plan().placement.processors, (std::vector<std::vector<int>>{{4, 5}, {4, 5}}));
  machine_.processors = {0, 1};
  EXPECT_EQ(plan().placement.processors, (std::vector<std::vector<int>>{{}, {}}));
  options_.interface.reset();
  EXPECT_EQ(plan().placement.numa_node, std::nullopt);
}

TEST_F(PlacementTest, named_processors_are_used_in_turn) {
  options_.processes = 3;
  options_.pinning.processors = {2, 4};
  EXPECT_EQ(plan().placement.processors, (std::vector<std::vector<int>>{{2}, {4}, {2}}));
  options_.pinning.processors = {2, 9};
  EXPECT_EQ(reason(), Reason::denied);
}

TEST_F(PlacementTest, a_report_of_the_peer_that_would_be_too_long_is_not_requested) {
  EXPECT_TRUE(plan().tests[0].wants_peer_report);
  options_.streams = 100;
  options_.seconds = 51;
  EXPECT_FALSE(plan().tests[0].wants_peer_report);
}

}  // namespace
}  // namespace autopilot::probes::net
