// SPDX-License-Identifier: Apache-2.0
#include "jobs/engine.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "tests/support/jobs/engine_job.hpp"

namespace autopilot::jobs::engine_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// GPUs that wait in a collective: busy for NVML, and nothing is computed.
void spin(WindowRecord& window) {
  for (float& watts : column(window, Metric::gpu_power_w))
    watts = 230;
  for (float& share : column(window, Metric::gpu_tensor))
    share = 0;
  for (float& rate : column(window, Metric::gpu_nvlink_bytes_s))
    rate = 0;
}

TEST(Engine, a_healthy_job_runs_without_findings) {
  Job job;
  job.run(90, true);
  EXPECT_THAT(job.findings(), IsEmpty());
  const JobState state = job.state();
  EXPECT_EQ(state.health, JobHealth::running);
  EXPECT_EQ(state.progress_source, "steps");
  EXPECT_EQ(state.nodes, kNodes);
  EXPECT_NEAR(state.step_s.value(), kStep, 0.1);
}

TEST(Engine, a_gpu_with_a_low_clock_is_named_with_its_evidence) {
  Job job;
  job.run(20, true);
  job.run(15, true, [](int node, WindowRecord& window) {
    if (node == 2) column(window, Metric::gpu_sm_clock_mhz)[3] = 1400;
  });
  ASSERT_FALSE(job.findings().empty());
  const JobFinding& finding = job.findings().back();
  EXPECT_EQ(finding.effect, Effect::slow);
  EXPECT_EQ(finding.culprit, (Entity{EntityKind::gpu, "n2", 3, ""}));
  EXPECT_EQ(finding.ranks, std::vector<int>{19});
  EXPECT_EQ(finding.cause, "clock");
  EXPECT_GE(finding.severity, Severity::ticket);
  EXPECT_NEAR(finding.slowdown.value(), 0.25, 0.02);
  EXPECT_LE(finding.detected - kStart, std::chrono::minutes(30));
  EXPECT_THAT(finding.summary, HasSubstr("GPU 3 of n2 slows the job"));
}

TEST(Engine, a_finding_is_resolved_when_the_evidence_is_gone) {
  Job job;
  job.run(15, true, [](int node, WindowRecord& window) {
    if (node == 2) column(window, Metric::gpu_sm_clock_mhz)[3] = 1400;
  });
  job.run(30, true);
  ASSERT_FALSE(job.findings().empty());
  EXPECT_TRUE(job.findings().back().resolved.has_value());
  EXPECT_EQ(job.state().health, JobHealth::running);
}

TEST(Engine, a_minute_of_low_clock_accuses_no_part) {
  Job job;
  job.run(20, true);
  job.run(2, true, [](int node, WindowRecord& window) {
    if (node == 2) column(window, Metric::gpu_sm_clock_mhz)[3] = 1400;
  });
  job.run(20, true);
  EXPECT_THAT(job.findings(), IsEmpty());
}

TEST(Engine, a_stopped_process_is_the_culprit_of_a_hang) {
  Job job;
  job.run(30, true);
  const WallTime last_step = job.now();
  job.run(6, false, [](int node, WindowRecord& window) {
    spin(window);
    if (node == 1) column(window, Metric::process_stopped)[4] = 1;
  });
  ASSERT_FALSE(job.findings().empty());
  const JobFinding& finding = job.findings().back();
  EXPECT_EQ(finding.effect, Effect::hang);
  EXPECT_EQ(finding.severity, Severity::page);
  EXPECT_EQ(finding.culprit.node, "n1");
  EXPECT_EQ(finding.ranks, std::vector<int>{12});
  EXPECT_EQ(finding.onset, last_step);
  EXPECT_LE(job.findings().front().detected - last_step, std::chrono::minutes(5));
  EXPECT_EQ(job.state().health, JobHealth::hung);
}

TEST(Engine, a_hang_ends_with_the_next_step) {
  Job job;
  job.run(30, true);
  job.run(6, false, [](int, WindowRecord& window) { spin(window); });
  job.run(2, true);
  ASSERT_FALSE(job.findings().empty());
  EXPECT_EQ(job.findings().back().effect, Effect::hang);
  EXPECT_TRUE(job.findings().back().resolved.has_value());
  EXPECT_EQ(job.state().health, JobHealth::running);
}

TEST(Engine, a_hang_that_nothing_explains_names_no_node) {
  Job job;
  job.run(30, true);
  job.run(6, false, [](int, WindowRecord& window) { spin(window); });
  ASSERT_FALSE(job.findings().empty());
  EXPECT_EQ(job.findings().back().culprit.kind, EntityKind::unlocalised);
}

// A job that computes on processors: all its processes wait in a poll.
TEST(Engine, a_job_whose_processes_all_sleep_hangs_and_names_no_node) {
  Job job({}, false);
  job.run(30, true);
  job.run(3, false, [](int, WindowRecord& window) {
    for (float& cores : column(window, Metric::process_cpu))
      cores = 0.01F;
  });
  ASSERT_FALSE(job.findings().empty());
  EXPECT_EQ(job.findings().back().effect, Effect::hang);
  EXPECT_EQ(job.findings().back().culprit.kind, EntityKind::unlocalised);
  EXPECT_EQ(job.state().health, JobHealth::hung);
}

TEST(Engine, a_job_whose_processes_work_without_steps_is_not_a_hang) {
  Job job({}, false);
  job.run(30, true);
  job.run(30, false);
  EXPECT_THAT(job.findings(), IsEmpty());
}

TEST(Engine, without_telemetry_a_stall_is_not_a_confirmed_hang) {
  Job job;
  job.run(30, true);
  job.run(10, false, [](int, WindowRecord& window) { window.columns.clear(); });
  EXPECT_THAT(job.findings(), IsEmpty());
  EXPECT_EQ(job.state().health, JobHealth::stalled);
}

TEST(Engine, a_checkpoint_is_not_a_hang) {
  Job job;
  job.run(30, true);
  job.engine().add(
      PhaseRecord{.time = job.now(), .job = "a", .phase = Phase::checkpoint, .edge = Edge::begin});
  job.run(8, false, [](int, WindowRecord& window) { spin(window); });
  job.engine().add(PhaseRecord{.time = job.now(), .job = "a", .phase = Phase::checkpoint, .edge = Edge::end});
  job.run(10, true);
  EXPECT_THAT(job.findings(), IsEmpty());
}

TEST(Engine, the_rank_that_ras_names_is_the_culprit) {
  Job job;
  std::int64_t count = 0;
  const auto answer = [&](bool advances) {
    Communicator world{.id = "0x1", .size = kNodes * kGpus};
    if (advances) count += 40;
    for (int rank = 0; rank < kNodes * kGpus; ++rank) {
      world.ranks.push_back(rank);
      world.started.emplace_back(rank != 9 && !advances ? count + 1 : count);
    }
    job.engine().add(CollectivesRecord{.time = job.now(), .job = "a", .communicators = {world}});
  };
  job.run(30, true, [&](int node, WindowRecord&) {
    if (node == 0) answer(true);
  });
  const WallTime last_step = job.now();
  job.run(5, false, [&](int node, WindowRecord& window) {
    spin(window);
    if (node == 0) answer(false);
  });
  ASSERT_FALSE(job.findings().empty());
  EXPECT_EQ(job.findings().back().culprit.node, "n1");
  EXPECT_EQ(job.findings().back().ranks, std::vector<int>{9});
  EXPECT_LE(job.findings().front().detected - last_step, std::chrono::minutes(3));
}

TEST(Engine, a_job_that_dies_of_an_xid_is_a_crash_of_that_gpu) {
  Job job;
  job.run(30, true);
  job.engine().add(XidRecord{.time = job.now(), .node = "n3", .gpu = 5, .xid = 79});
  for (int rank = 0; rank < kNodes * kGpus; ++rank)
    job.engine().add(
        ExitRecord{.time = job.now() + std::chrono::seconds(5), .job = "a", .rank = rank, .code = 1});
  job.run(3, false, [](int, WindowRecord& window) { spin(window); });
  const auto crash = std::ranges::find(job.findings(), Effect::crash, &JobFinding::effect);
  ASSERT_NE(crash, job.findings().end());
  EXPECT_EQ(crash->culprit, (Entity{EntityKind::gpu, "n3", 5, ""}));
  EXPECT_EQ(crash->severity, Severity::page);
}

TEST(Engine, a_job_that_ends_after_a_hang_ended_because_of_it) {
  Job job;
  job.run(30, true);
  job.run(6, false, [](int node, WindowRecord& window) {
    spin(window);
    if (node == 1) column(window, Metric::process_stopped)[4] = 1;
  });
  for (int rank = 0; rank < kNodes * kGpus; ++rank)
    job.engine().add(ExitRecord{.time = job.now(), .job = "a", .rank = rank, .signal = 6});
  job.run(2, false, [](int, WindowRecord& window) { spin(window); });
  const auto crash = std::ranges::find(job.findings(), Effect::crash, &JobFinding::effect);
  ASSERT_NE(crash, job.findings().end());
  EXPECT_EQ(crash->culprit.node, "n1");
  EXPECT_THAT(crash->summary, HasSubstr("after a hang"));
}

TEST(Engine, a_slow_part_explains_slower_steps_during_a_checkpoint_too) {
  Job job;
  job.run(70, true);
  job.slow_down(1.3);
  const auto throttled = [](int node, WindowRecord& window) {
    if (node == 2) column(window, Metric::gpu_sm_clock_mhz)[3] = 1300;
  };
  job.run(20, true, throttled);
  const std::size_t before = job.findings().size();
  job.engine().add(
      PhaseRecord{.time = job.now(), .job = "a", .phase = Phase::checkpoint, .edge = Edge::begin});
  job.run(1, true, throttled);
  job.engine().add(PhaseRecord{.time = job.now(), .job = "a", .phase = Phase::checkpoint, .edge = Edge::end});
  job.run(3, true, throttled);
  for (std::size_t at = before; at < job.findings().size(); ++at)
    EXPECT_NE(job.findings()[at].effect, Effect::regression);
  EXPECT_EQ(job.state().health, JobHealth::slow);
}

TEST(Engine, an_error_of_the_program_accuses_no_node) {
  Job job;
  job.run(30, true);
  job.engine().add(
      LogRecord{.time = job.now(),
                .job = "a",
                .rank = 4,
                .text = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."});
  job.engine().add(ExitRecord{.time = job.now(), .job = "a", .rank = 4, .code = 1});
  job.run(3, false, [](int, WindowRecord& window) { spin(window); });
  ASSERT_EQ(job.findings().size(), 1U);
  EXPECT_EQ(job.findings()[0].effect, Effect::crash);
  EXPECT_EQ(job.findings()[0].culprit.kind, EntityKind::program);
  EXPECT_EQ(job.findings()[0].severity, Severity::ticket);
}

TEST(Engine, a_restart_ends_the_findings_of_the_attempt_before) {
  Job job;
  job.run(30, true);
  job.run(6, false, [](int, WindowRecord& window) { spin(window); });
  job.start(2);
  job.run(1, false);
  ASSERT_FALSE(job.findings().empty());
  EXPECT_TRUE(job.findings().back().resolved.has_value());
  EXPECT_EQ(job.state().attempt, 2);
  EXPECT_EQ(job.state().health, JobHealth::starting);
}

TEST(Engine, an_ended_job_is_forgotten_after_half_an_hour) {
  Job job;
  job.run(5, true);
  job.engine().add(JobEndRecord{.time = job.now(), .job = "a", .outcome = Outcome::completed});
  EXPECT_EQ(job.state().health, JobHealth::ended);
  job.run(31, false);
  EXPECT_THAT(job.engine().jobs(), IsEmpty());
}

TEST(Engine, equal_records_give_equal_findings) {
  const auto findings = [] {
    Job job;
    job.run(30, true, [](int node, WindowRecord& window) {
      if (node == 2) column(window, Metric::gpu_sm_clock_mhz)[3] = 1400;
    });
    std::vector<std::string> texts;
    for (const JobFinding& finding : job.findings())
      texts.push_back(finding.summary);
    return texts;
  };
  EXPECT_EQ(findings(), findings());
}

TEST(Engine, records_of_unknown_jobs_and_beyond_limits_are_counted) {
  Engine engine(EngineOptions{.max_jobs = 1, .max_nodes = 1});
  engine.add(StepRecord{.time = kStart, .job = "unknown"});
  engine.add(JobRecord{.time = kStart, .job = "a"});
  engine.add(JobRecord{.time = kStart, .job = "b"});
  engine.add(WindowRecord{.time = kStart, .length = std::chrono::seconds(10), .node = "n1"});
  engine.add(WindowRecord{.time = kStart, .length = std::chrono::seconds(10), .node = "n2"});
  engine.advance(kStart);
  EXPECT_EQ(engine.counts().dropped, 3U);
  EXPECT_EQ(engine.jobs().size(), 1U);
}

TEST(Engine, a_jump_of_time_is_caught_up_within_bounds) {
  Job job;
  job.run(30, true);
  job.engine().advance(job.now() + std::chrono::hours(24 * 365));
  EXPECT_NE(job.state().health, JobHealth::hung);
}

}  // namespace
}  // namespace autopilot::jobs::engine_test
