// SPDX-License-Identifier: Apache-2.0
#include "jobs/engine.hpp"

#include <algorithm>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace autopilot::jobs::engine_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr WallTime kStart{std::chrono::hours(500000)};
constexpr int kNodes = 4;
constexpr int kGpus = 8;
constexpr double kStep = 5;

std::string node_name(int node) {
  return "n" + std::to_string(node);
}

// A training job on four nodes, with a little noise that is equal in each run.
class Job {
 public:
  // Changes the window of a node before the engine gets it.
  using Change = std::function<void(int node, WindowRecord& window)>;

  explicit Job(EngineOptions options = {}, bool has_gpus = true) : engine_(options), has_gpus_(has_gpus) {
    for (int node = 0; node < kNodes; ++node) {
      NodeRecord record;
      record.time = kStart;
      record.node = node_name(node);
      record.gpus = kGpus;
      record.idle_w = 90;
      record.spin_w = 230;
      record.busy_w = 640;
      engine_.add(record);
    }
    start(1);
  }

  void start(int attempt) {
    JobRecord job;
    job.time = now_;
    job.job = "a";
    job.attempt = attempt;
    job.watchdog = std::chrono::minutes(30);
    for (int rank = 0; rank < kNodes * kGpus; ++rank)
      job.ranks.push_back({.rank = rank,
                           .node = node_name(rank / kGpus),
                           .gpu = has_gpus_ ? std::optional(rank % kGpus) : std::nullopt,
                           .role = "dp"});
    engine_.add(job);
  }

  // has_steps: steps end; otherwise the job makes no progress.
  void run(int minutes, bool has_steps, const Change& change = {}) {
    for (int slot = 0; slot < 6 * minutes; ++slot) {
      for (int node = 0; node < kNodes; ++node) {
        WindowRecord window = window_of(node);
        if (change) change(node, window);
        engine_.add(window);
      }
      now_ += std::chrono::seconds(10);
      for (int step = 0; step < 2 && has_steps; ++step)
        engine_.add(StepRecord{.time = now_ - std::chrono::seconds(5 - 5 * step),
                               .job = "a",
                               .step = ++step_,
                               .step_s = step_s_ * noise()});
      engine_.advance(now_);
      for (JobFinding& finding : engine_.take())
        findings_.push_back(std::move(finding));
    }
  }

  void slow_down(double factor) { step_s_ *= factor; }

  Engine& engine() { return engine_; }
  WallTime now() const { return now_; }
  const std::vector<JobFinding>& findings() const { return findings_; }
  JobState state() const { return engine_.jobs().at(0); }

 private:
  WindowRecord window_of(int node) {
    WindowRecord window;
    window.time = now_ + std::chrono::seconds(10);
    window.length = std::chrono::seconds(10);
    window.node = node_name(node);
    Column power{Metric::gpu_power_w, {}}, clock{Metric::gpu_sm_clock_mhz, {}}, util{Metric::gpu_util, {}},
        tensor{Metric::gpu_tensor, {}}, nvlink{Metric::gpu_nvlink_bytes_s, {}},
        stopped{Metric::process_stopped, {}}, cpu{Metric::process_cpu, {}};
    for (int gpu = 0; gpu < kGpus; ++gpu) {
      window.gpus.push_back(gpu);
      window.processes.push_back({"a", node * kGpus + gpu});
      power.values.push_back(static_cast<float>(600 * noise()));
      clock.values.push_back(static_cast<float>(1750 * noise()));
      util.values.push_back(0.99F);
      tensor.values.push_back(static_cast<float>(0.4 * noise()));
      nvlink.values.push_back(static_cast<float>(1e11 * noise()));
      stopped.values.push_back(0);
      cpu.values.push_back(static_cast<float>(noise()));
    }
    const Column storage{Metric::host_storage_read_bytes_s, {static_cast<float>(1e6 * noise())}};
    window.columns = {stopped, cpu, storage};
    if (has_gpus_)
      window.columns.insert(window.columns.end(), {power, clock, util, tensor, nvlink});
    else
      window.gpus.clear();
    return window;
  }

  // 1 +- 1 %
  double noise() {
    seed_ = seed_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return 1 + 0.02 * (static_cast<double>(seed_ >> 40) / static_cast<double>(1ULL << 24) - 0.5);
  }

  Engine engine_;
  bool has_gpus_;
  WallTime now_ = kStart;
  std::int64_t step_ = 0;
  double step_s_ = kStep;
  std::uint64_t seed_ = 7;
  std::vector<JobFinding> findings_;
};

std::vector<float>& column(WindowRecord& window, Metric metric) {
  for (Column& held : window.columns)
    if (held.metric == metric) return held.values;
  window.columns.push_back({metric, std::vector<float>(window.gpus.size(), kMissing)});
  return window.columns.back().values;
}

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

// A GPU that is 4 % slower than its peers: less than the margin that ships.
std::vector<JobFinding> findings_of_small_loss(const SignalWeightsPtr& weights) {
  Job job;
  job.engine().set_weights(weights);
  const auto slower = [](int node, WindowRecord& window) {
    if (node == 1) column(window, Metric::gpu_sm_clock_mhz)[3] = 1680;
  };
  job.run(40, true);
  job.run(25, true, slower);
  return job.findings();
}

TEST(EngineWeights, a_learned_margin_finds_a_smaller_loss_and_the_finding_states_its_version) {
  EXPECT_THAT(findings_of_small_loss(nullptr), IsEmpty());
  const auto learned = std::make_shared<SignalWeights>();
  learned->version = "3f2a91";
  learned->margins = {{"sm_clock_low", 0.5}};
  const std::vector<JobFinding> found = findings_of_small_loss(learned);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(to_string(found[0].culprit), "GPU 3 of n1");
  EXPECT_EQ(found[0].weights, "3f2a91");
}

TEST(EngineWeights, without_a_learned_value_all_findings_are_the_same) {
  const auto run = [](const SignalWeightsPtr& weights, bool collects_scores) {
    Job job(EngineOptions{.collects_scores = collects_scores});
    job.engine().set_weights(weights);
    job.run(40, true);
    job.run(20, true, [](int node, WindowRecord& window) {
      if (node == 2) column(window, Metric::gpu_sm_clock_mhz)[5] = 1400;
    });
    return job.findings();
  };
  const auto none = std::make_shared<SignalWeights>();
  none->version = "v";
  const std::vector<JobFinding> shipped = run(nullptr, false);
  const std::vector<JobFinding> learned = run(none, true);
  ASSERT_FALSE(shipped.empty());
  ASSERT_EQ(learned.size(), shipped.size());
  for (std::size_t i = 0; i < shipped.size(); ++i) {
    EXPECT_EQ(learned[i].id, shipped[i].id);
    EXPECT_EQ(learned[i].probability, shipped[i].probability);
    EXPECT_EQ(learned[i].detected, shipped[i].detected);
    EXPECT_EQ(learned[i].summary, shipped[i].summary);
    EXPECT_EQ(shipped[i].weights, "");
  }
}

TEST(EngineScores, are_collected_on_request_for_each_node_and_half_hour) {
  Job job(EngineOptions{.collects_scores = true});
  job.run(95, true);
  const std::vector<PeerScore> scores = job.engine().take_scores();
  const auto clocks = std::ranges::count(scores, "sm_clock_low", &PeerScore::signal);
  EXPECT_GE(clocks, 2 * kNodes);
  for (const PeerScore& score : scores)
    EXPECT_LT(score.margins, 1) << score.signal;
  Job without;
  without.run(95, true);
  EXPECT_TRUE(without.engine().take_scores().empty());
}

}  // namespace
}  // namespace autopilot::jobs::engine_test
