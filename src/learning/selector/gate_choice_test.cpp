// SPDX-License-Identifier: Apache-2.0
#include "learning/selector/gate_choice.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::learning {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr WallTime kGateNow{24h * 20000};

GateDiagnostic diagnostic(const std::string& check, Duration time, bool is_quick = false) {
  return {.check = check, .time = time, .is_quick = is_quick, .passed = kGateNow - 48h};
}

GateInput gate_input() {
  return {.past = {},
          .diagnostics = {diagnostic("gpu.memory_test", 10min), diagnostic("gpu.pcie_bandwidth", 10s, true),
                          diagnostic("gpu.sdc", 2min)},
          .job = {.gpus = 8, .gpus_of_node = 8, .run_time = {}},
          .limit = 30min,
          .now = kGateNow};
}

Fault fault(const std::string& id, WallTime begin, Duration length, FaultClass kind = FaultClass::hardware) {
  Fault one;
  one.id = id;
  one.place.node = "gpu-7";
  one.begin = begin;
  one.end = begin + length;
  one.kind = kind;
  one.check = "gpu.xid";
  one.health = Health::degraded;
  return one;
}

Versions versions(WallTime time, const std::string& driver, const std::string& firmware = {}) {
  Versions one;
  one.id = "v" + format_time(time);
  one.time = time;
  one.driver = driver;
  one.firmware = firmware;
  return one;
}

// Returns to service that recent have a hazard that is many times that of the others.
void add_recent_faults(GateInput& input) {
  for (int i = 1; i <= 3; ++i)
    input.past.faults.push_back(fault("f" + std::to_string(i), kGateNow - i * 6h, 1h));
}

TEST(GateChoices, a_small_job_on_a_node_without_faults_gets_the_quick_set) {
  const auto chosen = choose_for_gate(gate_input());
  ASSERT_TRUE(chosen) << chosen.error().what;
  EXPECT_EQ(chosen->full, FullReason::none);
  EXPECT_THAT(chosen->checks, ElementsAre("gpu.pcie_bandwidth"));
  ASSERT_EQ(chosen->left_out.size(), 2U);
  EXPECT_EQ(chosen->left_out[0].check, "gpu.memory_test");
  EXPECT_THAT(chosen->left_out[0].why, HasSubstr("it would take 1.3 GPU-hours and is expected to save"));
  EXPECT_THAT(chosen->reason, HasSubstr("1 of 3 diagnostics are chosen by the history of the node"));
  EXPECT_THAT(chosen->reason, HasSubstr("in 1d of a job with 8 GPUs"));
}

TEST(GateChoices, a_large_job_on_a_node_that_failed_lately_gets_more) {
  GateInput input = gate_input();
  add_recent_faults(input);
  input.job.gpus = 1024;
  EXPECT_THAT(choose_for_gate(input)->checks,
              ElementsAre("gpu.memory_test", "gpu.pcie_bandwidth", "gpu.sdc"));
  input.job.gpus = 2;
  EXPECT_THAT(choose_for_gate(input)->checks, ElementsAre("gpu.pcie_bandwidth"));
}

TEST(GateChoices, a_short_run_is_worth_less) {
  GateInput input = gate_input();
  add_recent_faults(input);
  input.job.gpus = 1024;
  input.job.run_time = 5min;
  EXPECT_THAT(choose_for_gate(input)->checks, ElementsAre("gpu.pcie_bandwidth"));
}

TEST(GateChoices, the_limit_of_the_gate_leaves_out_what_does_not_fit) {
  GateInput input = gate_input();
  add_recent_faults(input);
  input.job.gpus = 1024;
  input.limit = 5min;
  const auto chosen = choose_for_gate(input);
  EXPECT_THAT(chosen->checks, ElementsAre("gpu.pcie_bandwidth", "gpu.sdc"));
  EXPECT_THAT(chosen->left_out.at(0).why, HasSubstr("it takes 10 min, and the others leave 2.8 min"));
}

TEST(GateChoices, a_diagnostic_that_is_proven_costs_nothing) {
  GateInput input = gate_input();
  input.diagnostics[0].is_proven = true;
  EXPECT_THAT(choose_for_gate(input)->checks, ElementsAre("gpu.memory_test", "gpu.pcie_bandwidth"));
}

TEST(GateChoices, without_a_quick_diagnostic_the_first_one_always_runs) {
  GateInput input = gate_input();
  input.diagnostics[1].is_quick = false;
  EXPECT_THAT(choose_for_gate(input)->checks, ElementsAre("gpu.memory_test"));
}

TEST(GateChoices, diagnostics_of_the_host_run_before_each_pod_and_need_no_pass) {
  GateInput input = gate_input();
  input.diagnostics.push_back({.check = "network.ping", .time = 5s, .is_of_host = true, .passed = {}});
  EXPECT_THAT(choose_for_gate(input)->checks, ElementsAre("gpu.pcie_bandwidth", "network.ping"));
}

TEST(GateChoices, all_run_after_a_repair_until_all_have_passed) {
  GateInput input = gate_input();
  Repair& repair = input.past.repairs.emplace_back();
  repair.end = kGateNow - 3h;
  auto chosen = choose_for_gate(input);
  EXPECT_EQ(chosen->full, FullReason::repair);
  EXPECT_THAT(chosen->left_out, IsEmpty());
  EXPECT_EQ(chosen->reason,
            "all diagnostics of the node must pass, because a repair of the node ended 3h ago");
  EXPECT_EQ(chosen->proofs_since, kGateNow - 3h);
  for (GateDiagnostic& one : input.diagnostics)
    one.passed = kGateNow - 1h;
  chosen = choose_for_gate(input);
  EXPECT_EQ(chosen->full, FullReason::none);
  EXPECT_FALSE(chosen->proofs_since);
}

TEST(GateChoices, a_failure_of_the_hardware_that_ended_counts_as_a_repair) {
  GateInput input = gate_input();
  input.past.faults.push_back(fault("f", kGateNow - 9h, 1h));
  EXPECT_EQ(choose_for_gate(input)->full, FullReason::none);
  input.past.faults.front().health = Health::failed;
  EXPECT_THAT(choose_for_gate(input)->reason, HasSubstr("a failure of the hardware ended 8h ago"));
}

TEST(GateChoices, all_run_after_a_change_of_driver_or_firmware) {
  GateInput input = gate_input();
  input.past.versions = {versions(kGateNow - 1h, "560"), versions(kGateNow - 90h, "550")};
  auto chosen = choose_for_gate(input);
  EXPECT_EQ(chosen->full, FullReason::driver_change);
  EXPECT_THAT(chosen->reason, HasSubstr("the driver changed 1h ago"));
  input.past.versions = {versions(kGateNow - 90h, "550", "1"), versions(kGateNow - 1h, "550", "2")};
  EXPECT_THAT(choose_for_gate(input)->reason, HasSubstr("the firmware changed"));
  // A driver that does not answer has no version.
  input.past.versions = {versions(kGateNow - 90h, "550"), versions(kGateNow - 2h, ""),
                         versions(kGateNow - 1h, "550")};
  EXPECT_EQ(choose_for_gate(input)->full, FullReason::none);
}

TEST(GateChoices, all_run_if_one_has_not_passed_within_thirty_days) {
  GateInput input = gate_input();
  input.diagnostics[2].passed = kGateNow - 24h * 31;
  EXPECT_THAT(choose_for_gate(input)->reason, HasSubstr("gpu.sdc passed 31d ago"));
  input.diagnostics[0].passed.reset();
  EXPECT_THAT(choose_for_gate(input)->reason,
              HasSubstr("no pass of gpu.memory_test on all GPUs is recorded"));
  EXPECT_THAT(choose_for_gate(input)->checks,
              ElementsAre("gpu.memory_test", "gpu.pcie_bandwidth", "gpu.sdc"));
}

TEST(GateChoices, a_clock_that_was_ahead_makes_no_repair_and_no_change) {
  GateInput input = gate_input();
  input.past.repairs.emplace_back().end = kGateNow + 1h;
  input.past.versions = {versions(kGateNow - 90h, "550"), versions(kGateNow + 1h, "560")};
  input.past.faults.push_back(fault("f", kGateNow + 1h, 1h));
  EXPECT_EQ(choose_for_gate(input)->full, FullReason::none);
}

TEST(GateChoices, labelled_faults_teach_what_a_diagnostic_finds) {
  GateInput input = gate_input();
  input.job.gpus = 384;
  for (int i = 0; i < 12; ++i) {
    const WallTime begin = kGateNow - 24h * (40 + 10 * i);
    const std::string id = "f" + std::to_string(i);
    input.past.faults.push_back(fault(id, begin, 10h));
    Label& label = input.past.labels.emplace_back();
    label.fault = id;
    label.answer = LabelAnswer::faulty;
    label.source = LabelSource::rma;
    Validation& validation = input.past.validations.emplace_back();
    validation.start = begin + 1h;
    validation.end = begin + 2h;
    validation.checks = {{"gpu.sdc", "", Health::failed, "", ""},
                         {"gpu.memory_test", "", Health::healthy, "", ""}};
  }
  EXPECT_THAT(choose_for_gate(input)->checks, ElementsAre("gpu.pcie_bandwidth", "gpu.sdc"));
  for (Validation& validation : input.past.validations)
    validation.checks[0].health = Health::healthy;
  EXPECT_THAT(choose_for_gate(input)->checks, ElementsAre("gpu.pcie_bandwidth"));
}

TEST(GateChoices, the_order_of_records_has_no_influence) {
  GateInput input = gate_input();
  add_recent_faults(input);
  input.past.versions = {versions(kGateNow - 90h, "550"), versions(kGateNow - 1h, "560")};
  const auto first = choose_for_gate(input);
  std::ranges::reverse(input.past.faults);
  std::ranges::reverse(input.past.versions);
  const auto second = choose_for_gate(input);
  EXPECT_EQ(first->checks, second->checks);
  EXPECT_EQ(first->reason, second->reason);
}

TEST(GateChoices, a_record_that_contradicts_itself_is_refused) {
  GateInput input = gate_input();
  add_recent_faults(input);
  input.past.faults.push_back(fault("f", kGateNow - 5h, -1h));
  EXPECT_EQ(choose_for_gate(input).error().code, Errc::malformed);
}

}  // namespace
}  // namespace autopilot::learning
