// SPDX-License-Identifier: Apache-2.0
#include "simulator/jobs/scenario.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>

namespace autopilot::simulated_jobs {
namespace {

TEST(Scenario, there_is_a_named_one_for_each_fault_and_confounder) {
  std::set<std::string> names;
  for (const Scenario& scenario : named_scenarios()) {
    EXPECT_TRUE(names.insert(scenario.name).second) << scenario.name;
    EXPECT_LE(scenario.nodes, 17);
    EXPECT_GE(scenario.jobs.front().nodes, 4);
    EXPECT_GE(scenario.hours, 2);
    EXPECT_LE(scenario.hours, 6);
  }
  for (const FaultType& type : fault_types())
    EXPECT_TRUE(names.contains(std::string(type.name))) << type.name;
  for (const ConfounderType& type : confounder_types())
    EXPECT_TRUE(names.contains(std::string(type.name))) << type.name;
}

TEST(Scenario, tables_are_in_the_order_of_their_enumerations) {
  ASSERT_EQ(fault_types().size(), kFaultClasses);
  for (std::size_t i = 0; i < kFaultClasses; ++i)
    EXPECT_EQ(static_cast<std::size_t>(fault_types()[i].fault_class), i);
  for (std::size_t i = 0; i < kConfounders; ++i)
    EXPECT_EQ(static_cast<std::size_t>(confounder_types()[i].confounder), i);
}

TEST(Scenario, an_unknown_name_is_an_error_that_names_the_list) {
  const auto scenario = named_scenario("nothing");
  ASSERT_FALSE(scenario);
  EXPECT_EQ(scenario.error().code, Errc::not_found);
  EXPECT_NE(scenario.error().what.find("autopilot-sim jobs list"), std::string::npos);
}

TEST(Scenario, the_rate_of_faults_is_the_given_one) {
  ScenarioOptions options;
  options.nodes = 64;
  options.hours = 24;
  options.faults_per_1000_node_days = 50;
  std::size_t faults = 0;
  constexpr int kSeeds = 200;
  for (int seed = 0; seed < kSeeds; ++seed)
    faults += make_scenario(static_cast<std::uint64_t>(seed), options).value().faults.size();
  EXPECT_NEAR(static_cast<double>(faults) / kSeeds, 3.2, 0.4);
}

TEST(Scenario, planned_faults_do_not_overlap_and_are_on_nodes_of_the_job) {
  ScenarioOptions options;
  options.faults_per_1000_node_days = 1e6;
  options.hours = 48;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    options.nodes = seed % 2 == 0 ? 4 : 16;
    const Scenario scenario = make_scenario(seed, options).value();
    double before = 0;
    EXPECT_FALSE(scenario.faults.empty());
    for (const PlannedFault& fault : scenario.faults) {
      EXPECT_GT(fault.at, before);
      before = fault.at + fault.lasting;
      EXPECT_LT(fault.node, scenario.jobs.front().nodes);
      EXPECT_LT(fault.gpu, kGpus);
    }
  }
}

TEST(Scenario, a_benchmark_can_choose_classes_magnitude_and_kind) {
  ScenarioOptions options;
  options.nodes = 4;
  options.faults_per_1000_node_days = 1e5;
  options.classes = {FaultClass::gpu_clock, FaultClass::xid, FaultClass::slow_replica};
  options.magnitude = 0.07;
  options.kind = jobs::JobKind::training;
  const Scenario scenario = make_scenario(3, options).value();
  EXPECT_GT(scenario.faults.size(), 10U);
  for (const PlannedFault& fault : scenario.faults) {
    EXPECT_TRUE(fault.fault_class == FaultClass::gpu_clock || fault.fault_class == FaultClass::xid);
    EXPECT_EQ(fault.magnitude, fault.fault_class == FaultClass::xid ? 0 : 0.07);
  }
  options.classes = {FaultClass::slow_replica};
  EXPECT_TRUE(make_scenario(3, options).value().faults.empty());
}

TEST(Scenario, options_out_of_range_are_refused) {
  EXPECT_FALSE(make_scenario(1, {.nodes = 0, .hours = {}}));
  EXPECT_FALSE(make_scenario(1, {.nodes = kMaxNodes + 1, .hours = {}}));
  EXPECT_FALSE(make_scenario(1, {.nodes = 4, .hours = 0.0}));
  EXPECT_FALSE(make_scenario(1, {.nodes = 4, .hours = 1e9}));
  EXPECT_FALSE(make_scenario(1, {.nodes = 4, .hours = {}, .faults_per_1000_node_days = -1}));
}

}  // namespace
}  // namespace autopilot::simulated_jobs
