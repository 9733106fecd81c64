// SPDX-License-Identifier: Apache-2.0
#include "jobs/detectors/blame.hpp"

#include <gtest/gtest.h>
#include <random>

namespace autopilot::jobs {
namespace {

constexpr JobCondition kSlowSynchronousJob{true, true, RoleSource::declared};

Deviation deviation_of(std::string_view signal, float value = 1, float median = 2,
                       std::string_view nic = {}) {
  const PeerRule* rule = find_peer_rule(signal);
  EXPECT_NE(rule, nullptr) << signal;
  return {rule, value, median, (value + median) / 2, 10, 31, nic};
}

Blame judge_signals(const std::vector<std::string_view>& signals,
                    const JobCondition& job = kSlowSynchronousJob) {
  std::vector<Deviation> deviations;
  for (const std::string_view signal : signals)
    deviations.push_back(deviation_of(signal, 1, 2, signal.starts_with("nic_") ? "mlx5_2" : ""));
  return judge_rank("gpu-001", 3, deviations, job, WallTime{});
}

TEST(Blame, a_rank_without_deviations_is_neither_culprit_nor_victim) {
  EXPECT_EQ(judge_signals({}).verdict, BlameVerdict::none);
  const std::vector<Deviation> unknown(3);
  EXPECT_EQ(judge_rank("gpu-001", 0, unknown, kSlowSynchronousJob, WallTime{}).verdict, BlameVerdict::none);
}

TEST(Blame, a_low_clock_accuses_the_gpu_with_its_numbers) {
  const std::vector<Deviation> deviations{deviation_of("sm_clock_low", 1410, 1755)};
  const Blame blame = judge_rank("gpu-001", 3, deviations, kSlowSynchronousJob, WallTime{});
  EXPECT_EQ(blame.verdict, BlameVerdict::culprit_gpu);
  EXPECT_EQ(to_string(blame.culprit), "GPU 3 of gpu-001");
  EXPECT_EQ(blame.cause, "clock");
  ASSERT_EQ(blame.evidence.size(), 1U);
  EXPECT_EQ(blame.evidence[0].signal, "sm_clock_low");
  EXPECT_EQ(blame.evidence[0].family, Family::clock);
  EXPECT_EQ(blame.evidence[0].text,
            "SM clock is 1410 MHz, the median of 31 peers is 1755 MHz (threshold 1582 MHz)");
  EXPECT_EQ(blame.evidence[0].value, 1410);
  EXPECT_EQ(blame.evidence[0].peers, 1755);
}

TEST(Blame, the_cause_is_the_most_specific_state_of_the_gpu) {
  EXPECT_EQ(judge_signals({"sm_clock_low", "throttle_thermal", "temp_high"}).cause, "thermal");
  EXPECT_EQ(judge_signals({"sm_clock_low", "throttle_brake"}).cause, "power_brake");
  EXPECT_EQ(judge_signals({"sm_clock_low", "throttle_hw"}).cause, "hw_slowdown");
  EXPECT_EQ(judge_signals({"pcie_width_low", "tensor_high"}).cause, "pcie");
  EXPECT_EQ(judge_signals({"nvlink_errors_high", "nvlink_bytes_low"}).cause, "nvlink");
  EXPECT_EQ(judge_signals({"ecc_uncorrected"}).cause, "ecc");
  EXPECT_EQ(judge_signals({"sm_clock_low", "throttle_power_cap", "power_low"}).cause, "power_cap");
  for (const PeerRule& rule : peer_rules())
    if (rule.sign == Sign::fault && info(rule.metric).table == Table::gpu) {
      EXPECT_NE(judge_signals({rule.signal}).cause, "compute") << rule.signal;
    }
}

TEST(Blame, a_comparison_without_a_threshold_leaves_it_out) {
  Deviation width = deviation_of("pcie_width_low", 8, 16);
  width.threshold = kMissing;
  const Blame blame =
      judge_rank("gpu-001", 3, std::vector<Deviation>{width}, kSlowSynchronousJob, WallTime{});
  ASSERT_EQ(blame.evidence.size(), 1U);
  EXPECT_FALSE(blame.evidence[0].threshold);
  EXPECT_EQ(blame.evidence[0].text, "PCIe width is x8, the median of 31 peers is x16");
}

TEST(Blame, warm_air_accuses_the_node) {
  const Blame blame = judge_signals({"throttle_thermal", "sm_clock_low", "inlet_high"});
  EXPECT_EQ(blame.verdict, BlameVerdict::culprit_host);
  EXPECT_EQ(blame.cause, "thermal");
}

TEST(Blame, a_busier_gpu_of_a_slow_job_arrives_last) {
  const Blame blame = judge_signals({"tensor_high"});
  EXPECT_EQ(blame.verdict, BlameVerdict::culprit_gpu);
  EXPECT_EQ(blame.cause, "compute");
}

TEST(Blame, a_rank_held_up_by_its_host_accuses_the_host) {
  for (const std::string_view pressure : {"psi_cpu_high", "psi_io_high", "psi_memory_high", "run_queue_high",
                                          "disk_sleep", "process_cpu_low"}) {
    EXPECT_EQ(judge_signals({"util_low", pressure}).verdict, BlameVerdict::culprit_host) << pressure;
    EXPECT_EQ(judge_signals({"power_low", "tensor_low", pressure}).verdict, BlameVerdict::culprit_host)
        << pressure;
    EXPECT_EQ(judge_signals({pressure}).verdict, BlameVerdict::none) << pressure;
  }
  EXPECT_EQ(judge_signals({"process_cpu_low", "psi_cpu_high"}).verdict, BlameVerdict::culprit_host);
  EXPECT_EQ(judge_signals({"process_cpu_low", "psi_cpu_high"}, {true, false, RoleSource::declared}).verdict,
            BlameVerdict::none);
  EXPECT_EQ(to_string(judge_signals({"util_low", "psi_cpu_high"}).culprit), "node gpu-001");
}

TEST(Blame, a_process_that_waits_for_a_processor_slows_the_job) {
  EXPECT_EQ(judge_signals({"run_delay_high"}).cause, "processor_wait");
  EXPECT_EQ(judge_signals({"run_delay_high"}).verdict, BlameVerdict::culprit_host);
  EXPECT_EQ(judge_signals({"run_delay_high", "host_cpu_high"}).cause, "host");
  EXPECT_EQ(judge_signals({"run_delay_high"}, {true, false, RoleSource::declared}).verdict,
            BlameVerdict::none);
}

TEST(Blame, a_stopped_process_accuses_the_host_whatever_else_deviates) {
  const Blame blame = judge_signals({"sm_clock_low", "process_stopped", "util_low"});
  EXPECT_EQ(blame.verdict, BlameVerdict::culprit_host);
  EXPECT_EQ(blame.cause, "stopped");
  EXPECT_EQ(blame.evidence.front().signal, "process_stopped");
}

TEST(Blame, low_traffic_alone_is_a_victim) {
  EXPECT_EQ(judge_signals({"nic_tx_low", "nic_rx_low"}).verdict, BlameVerdict::victim);
  EXPECT_EQ(judge_signals({"nvlink_bytes_low"}).verdict, BlameVerdict::victim);
  EXPECT_EQ(judge_signals({"nic_tx_low", "nic_cnp_high"}).verdict, BlameVerdict::victim);
  EXPECT_FALSE(judge_signals({"nic_tx_low"}).culprit.is_accused());
}

TEST(Blame, low_traffic_with_a_fault_of_the_port_accuses_the_nic) {
  for (const std::string_view fault :
       {"nic_errors_high", "nic_retransmits_high", "nic_link_downed", "nic_rate_low", "nic_down"}) {
    const Blame blame = judge_signals({"nic_tx_low", fault});
    EXPECT_EQ(blame.verdict, BlameVerdict::culprit_nic) << fault;
    EXPECT_EQ(to_string(blame.culprit), "mlx5_2 of gpu-001");
    EXPECT_EQ(blame.evidence.front().signal, fault);
  }
}

TEST(Blame, the_nic_with_the_most_faults_is_accused) {
  const std::vector<Deviation> deviations{deviation_of("nic_retransmits_high", 20, 0, "mlx5_0"),
                                          deviation_of("nic_retransmits_high", 900, 0, "mlx5_1"),
                                          deviation_of("nic_errors_high", 50, 0, "mlx5_1"),
                                          deviation_of("nic_tx_low", 1e9F, 2e10F, "mlx5_0")};
  const Blame blame = judge_rank("gpu-001", 3, deviations, kSlowSynchronousJob, WallTime{});
  EXPECT_EQ(blame.culprit.nic, "mlx5_1");
  EXPECT_EQ(blame.evidence.size(), 2U);
}

TEST(Blame, low_power_with_low_tensor_activity_is_a_victim) {
  EXPECT_EQ(judge_signals({"power_low", "tensor_low"}).verdict, BlameVerdict::victim);
  EXPECT_EQ(judge_signals({"power_low"}).verdict, BlameVerdict::victim);
  EXPECT_EQ(judge_signals({"power_low", "tensor_low", "util_low"}).verdict, BlameVerdict::victim);
}

TEST(Blame, a_gpu_without_work_is_not_accused_for_its_clock) {
  const Blame blame = judge_signals({"sm_clock_low", "pcie_gen_low", "util_low", "tensor_low", "power_low"});
  EXPECT_EQ(blame.verdict, BlameVerdict::victim);
  ASSERT_EQ(blame.ruled_out.size(), 2U);
  EXPECT_NE(blame.ruled_out[0].find("without work lowers its clock"), std::string::npos);
  EXPECT_EQ(judge_signals({"sm_clock_low", "throttle_thermal", "util_low"}).verdict,
            BlameVerdict::culprit_gpu);
  EXPECT_EQ(judge_signals({"sm_clock_low", "util_low", "psi_cpu_high"}).verdict, BlameVerdict::culprit_host);
}

// A stage with more work has a higher tensor share, more memory, more power and, at the power limit, a lower
// clock.
TEST(Blame, a_stage_with_more_work_is_not_accused) {
  for (const RoleSource roles : {RoleSource::none, RoleSource::clustered}) {
    const JobCondition job{true, true, roles};
    EXPECT_EQ(judge_signals({"tensor_high"}, job).verdict, BlameVerdict::workload);
    EXPECT_EQ(judge_signals({"tensor_high", "mem_bytes_high"}, job).verdict, BlameVerdict::workload);
    EXPECT_EQ(judge_signals({"tensor_high", "sm_clock_low", "throttle_power_cap"}, job).verdict,
              BlameVerdict::workload);
    EXPECT_EQ(judge_signals({"tensor_low", "power_low"}, job).verdict, BlameVerdict::victim);
    EXPECT_EQ(judge_signals({"sm_clock_low", "throttle_thermal"}, job).verdict, BlameVerdict::culprit_gpu);
  }
  EXPECT_EQ(judge_signals({"tensor_high"}, {true, false, RoleSource::declared}).verdict,
            BlameVerdict::workload);
}

TEST(Blame, a_rank_with_longer_sequences_is_not_accused) {
  EXPECT_EQ(judge_signals({"tensor_high", "mem_bytes_high"}).verdict, BlameVerdict::workload);
}

TEST(Blame, a_program_that_starts_kernels_late_is_not_a_fault_of_the_node) {
  const Blame blame = judge_signals({"util_low", "power_low"});
  EXPECT_EQ(blame.verdict, BlameVerdict::workload);
  EXPECT_FALSE(blame.culprit.is_accused());
}

TEST(Blame, replicas_with_different_load_are_not_accused) {
  const JobCondition inference{false, true, RoleSource::declared};
  EXPECT_EQ(judge_signals({"tensor_high", "power_low", "util_low", "nic_tx_low", "psi_cpu_high"}, inference)
                .verdict,
            BlameVerdict::none);
  EXPECT_EQ(judge_signals({"sm_clock_low", "throttle_power_cap"}, inference).verdict, BlameVerdict::none);
  EXPECT_EQ(judge_signals({"throttle_hw"}, inference).verdict, BlameVerdict::culprit_gpu);
}

TEST(Blame, hints_alone_accuse_no_part) {
  for (const PeerRule& rule : peer_rules())
    if (rule.sign == Sign::hint) {
      EXPECT_EQ(judge_signals({rule.signal}).verdict, BlameVerdict::none) << rule.signal;
    }
}

TEST(Blame, a_delayed_process_accuses_its_host_only_while_the_job_is_slow) {
  int rules = 0;
  for (const PeerRule& rule : peer_rules()) {
    if (rule.sign != Sign::delayed) continue;
    ++rules;
    EXPECT_EQ(judge_signals({rule.signal}).verdict, BlameVerdict::culprit_host) << rule.signal;
    const JobCondition normal{true, false, RoleSource::declared};
    EXPECT_EQ(judge_signals({rule.signal}, normal).verdict, BlameVerdict::none) << rule.signal;
    EXPECT_EQ(judge_signals({rule.signal, "util_low"}, normal).verdict, BlameVerdict::culprit_host);
  }
  EXPECT_GT(rules, 0);
}

TEST(Blame, a_rank_without_a_gpu_never_accuses_a_gpu) {
  const std::vector<Deviation> deviations{deviation_of("sm_clock_low"), deviation_of("tensor_high")};
  EXPECT_FALSE(judge_rank("cpu-001", -1, deviations, kSlowSynchronousJob, WallTime{}).culprit.is_accused());
}

TEST(Blame, evidence_is_limited) {
  std::vector<Deviation> deviations(100, deviation_of("nic_errors_high", 50, 0, "mlx5_0"));
  deviations.insert(deviations.end(), 100, deviation_of("sm_clock_low"));
  const JobCondition job{true, true, RoleSource::none};
  EXPECT_EQ(judge_rank("gpu-001", 3, deviations, job, WallTime{}).evidence.size(), Blame::kMaxEvidence);
  deviations.push_back(deviation_of("util_low"));
  EXPECT_EQ(judge_rank("gpu-001", 3, deviations, job, WallTime{}).ruled_out.size(), Blame::kMaxEvidence);
}

TEST(Blame, most_gpus_of_a_node_with_a_fault_accuse_the_node) {
  const std::vector<Deviation> brake{deviation_of("throttle_brake")};
  std::vector<Blame> blames(8);
  for (int gpu = 0; gpu < 4; ++gpu)
    blames[static_cast<std::size_t>(gpu)] =
        judge_rank("gpu-001", gpu, brake, kSlowSynchronousJob, WallTime{});
  EXPECT_FALSE(join_node(blames));
  blames[4] = judge_rank("gpu-001", 4, brake, kSlowSynchronousJob, WallTime{});
  const std::optional<Blame> node = join_node(blames);
  ASSERT_TRUE(node);
  EXPECT_EQ(node->culprit.kind, EntityKind::host);
  EXPECT_EQ(node->culprit.node, "gpu-001");
  EXPECT_EQ(node->cause, "power_brake");
  EXPECT_EQ(node->evidence.size(), 1U);
  EXPECT_FALSE(join_node({}));
  EXPECT_FALSE(join_node(std::vector<Blame>(1, blames[0])));
}

}  // namespace
}  // namespace autopilot::jobs
