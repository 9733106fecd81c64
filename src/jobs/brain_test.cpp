// SPDX-License-Identifier: Apache-2.0
#include "jobs/brain.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

#include "jobs/node_troubles.hpp"

namespace autopilot::jobs::brain_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr WallTime kStart{std::chrono::hours(500000)};
constexpr int kRanks = 8;
constexpr const char* kJob = "ml/llama";

// A job of two nodes with four GPUs each, and everything that the brain states about it.
class BrainRun {
 public:
  explicit BrainRun(BrainOptions options = {}) : brain_(std::move(options)) {
    for (const char* node : {"n0", "n1"})
      brain_.add(
          NodeRecord{.time = kStart, .node = node, .gpus = 4, .idle_w = 90, .spin_w = 230, .busy_w = 640});
    start(1);
  }

  void start(int attempt) {
    JobRecord job{.time = now_, .job = kJob, .name = "llama", .owner = "Job ml/llama", .attempt = attempt};
    for (int rank = 0; rank < kRanks; ++rank)
      job.ranks.push_back({.rank = rank, .node = node_of(rank), .gpu = rank % 4, .role = "dp"});
    brain_.add(job);
  }

  // stopped: the rank whose process is stopped, so that no step ends; -1: steps end.
  void run(int minutes, int stopped = -1) {
    for (int slot = 0; slot < 6 * minutes; ++slot) {
      now_ += 10s;
      for (const int node : {0, 1})
        brain_.add(window(node, stopped));
      for (int step = 0; step < 2 && stopped < 0; ++step)
        brain_.add(StepRecord{.time = now_ - 5s + 5s * step, .job = kJob, .step = ++step_, .step_s = 5});
      advance(now_);
    }
  }

  void add(const Record& record) { brain_.add(record); }
  void advance(WallTime now) {
    now_ = now;
    brain_.advance(now);
    for (Alert& alert : brain_.take_alerts())
      alerts_.push_back(std::move(alert));
    for (WantedAction& action : brain_.take_actions())
      actions_.push_back(std::move(action));
  }

  Brain& brain() { return brain_; }
  WallTime now() const { return now_; }
  JobReport report() const { return brain_.report(kJob).value(); }
  const std::vector<Alert>& alerts() const { return alerts_; }
  // Messages about the hang, in their order.
  std::vector<AlertKind> hang_alerts() const {
    std::vector<AlertKind> kinds;
    for (const Alert& alert : alerts_)
      if (alert.title.find("hangs") != std::string::npos) kinds.push_back(alert.kind);
    return kinds;
  }
  const std::vector<WantedAction>& actions() const { return actions_; }

 private:
  static std::string node_of(int rank) { return rank < 4 ? "n0" : "n1"; }

  WindowRecord window(int node, int stopped) const {
    WindowRecord record{.time = now_, .length = 10s, .node = node == 0 ? "n0" : "n1"};
    const bool hangs = stopped >= 0;
    Column power{Metric::gpu_power_w, {}}, util{Metric::gpu_util, {}}, tensor{Metric::gpu_tensor, {}},
        state{Metric::process_stopped, {}};
    for (int gpu = 0; gpu < 4; ++gpu) {
      record.gpus.push_back(gpu);
      record.processes.push_back({kJob, node * 4 + gpu});
      power.values.push_back(hangs ? 230 : 600);
      util.values.push_back(0.99F);
      tensor.values.push_back(hangs ? 0 : 0.4F);
      state.values.push_back(node * 4 + gpu == stopped ? 1 : 0);
    }
    record.columns = {power, util, tensor, state};
    return record;
  }

  Brain brain_;
  WallTime now_ = kStart;
  std::int64_t step_ = 0;
  std::vector<Alert> alerts_;
  std::vector<WantedAction> actions_;
};

BrainOptions acting(std::size_t nodes) {
  BrainOptions options;
  options.policy.mode = Mode::act;
  options.cluster_nodes = nodes;
  return options;
}

// A checkpoint, so that the time since the last one is known.
void checkpoint(BrainRun& run) {
  run.add(PhaseRecord{.time = run.now(), .job = kJob, .phase = Phase::checkpoint, .edge = Edge::begin});
  run.add(PhaseRecord{.time = run.now(), .job = kJob, .phase = Phase::checkpoint, .edge = Edge::end});
}

// The last GPU of the second node falls off its bus, and the job dies of it.
void kill_gpu(BrainRun& run) {
  run.add(XidRecord{.time = run.now(), .node = "n1", .gpu = 3, .xid = 79});
  for (int rank = 0; rank < kRanks; ++rank)
    run.add(ExitRecord{.time = run.now() + 5s, .job = kJob, .rank = rank, .code = 1});
}

TEST(Brain, a_healthy_job_has_a_report_and_no_alert) {
  BrainRun run;
  run.run(20);
  const JobReport report = run.report();
  EXPECT_EQ(report.state.health, JobHealth::running);
  EXPECT_EQ(report.owner, "Job ml/llama");
  EXPECT_THAT(report.nodes, ElementsAre("n0", "n1"));
  EXPECT_EQ(report.started, kStart);
  EXPECT_THAT(report.findings, IsEmpty());
  EXPECT_THAT(run.alerts(), IsEmpty());
}

TEST(Brain, a_hang_is_reported_once_and_its_end_too) {
  BrainRun run;
  run.run(20);
  run.run(10, 5);
  ASSERT_FALSE(run.report().findings.empty());
  EXPECT_EQ(run.report().findings[0].effect, Effect::hang);
  EXPECT_EQ(run.report().findings[0].culprit.node, "n1");
  EXPECT_EQ(run.report().state.health, JobHealth::hung);
  EXPECT_THAT(run.hang_alerts(), ElementsAre(AlertKind::raised));
  run.run(20);
  EXPECT_THAT(run.hang_alerts(), ElementsAre(AlertKind::raised, AlertKind::resolved));
  ASSERT_FALSE(run.report().findings.empty());
  EXPECT_TRUE(run.report().findings[0].resolved.has_value());
}

TEST(Brain, a_job_is_found_by_its_name_and_a_typing_error_is_answered) {
  BrainRun run;
  EXPECT_EQ(run.brain().report("llama").value().state.job, kJob);
  const auto wrong = run.brain().report("ml/lama");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, Errc::not_found);
  EXPECT_THAT(wrong.error().what, HasSubstr("ml/llama"));
}

TEST(Brain, changes_are_named_once_and_steps_are_none) {
  BrainRun run;
  run.run(20);
  EXPECT_THAT(run.brain().take_changed(), ElementsAre(kJob));
  run.run(5);
  EXPECT_THAT(run.brain().take_changed(), IsEmpty());
  run.run(10, 5);
  EXPECT_THAT(run.brain().take_changed(), ElementsAre(kJob));
}

TEST(Brain, a_muted_job_is_silent_and_what_is_open_is_sent_when_that_ends) {
  BrainRun run;
  run.run(20);
  ASSERT_TRUE(run.brain().mute(kJob, run.now() + 20min));
  EXPECT_TRUE(run.report().is_muted);
  run.run(15, 5);
  EXPECT_THAT(run.alerts(), IsEmpty());
  EXPECT_FALSE(run.report().findings.empty());
  run.run(10, 5);
  EXPECT_THAT(run.hang_alerts(), ElementsAre(AlertKind::raised));
  EXPECT_FALSE(run.report().is_muted);
  EXPECT_EQ(run.brain().mute("other", run.now()).error().code, Errc::not_found);
}

TEST(Brain, an_acknowledged_finding_sends_only_its_end) {
  BrainRun run;
  run.run(20);
  run.run(10, 5);
  const std::string id = run.report().findings.at(0).id;
  ASSERT_TRUE(run.brain().acknowledge({.time = run.now(), .finding = id, .by = "ann"}));
  EXPECT_THAT(run.report().acknowledged, SizeIs(1));
  run.run(130, 5);  // beyond the cool-down of an hour
  EXPECT_THAT(run.hang_alerts(), ElementsAre(AlertKind::raised));
  run.run(20);
  EXPECT_THAT(run.hang_alerts(), ElementsAre(AlertKind::raised, AlertKind::resolved));
  EXPECT_THAT(run.report().acknowledged, IsEmpty());
}

TEST(Brain, feedback_is_kept_with_the_job_and_bounded) {
  BrainRun run;
  run.run(20);
  run.run(10, 5);
  const std::string id = run.report().findings.at(0).id;
  for (std::size_t at = 0; at <= JobReport::kMaxFeedback; ++at)
    ASSERT_TRUE(run.brain().state_feedback(
        {.time = run.now(), .finding = id, .verdict = Verdict::refuted, .note = std::to_string(at)}));
  EXPECT_THAT(run.report().feedback, SizeIs(JobReport::kMaxFeedback));
  EXPECT_EQ(run.report().feedback.back().note, std::to_string(JobReport::kMaxFeedback));
  EXPECT_EQ(run.brain().state_feedback({.finding = "0"}).error().code, Errc::not_found);
  EXPECT_EQ(run.brain().state_feedback({.finding = id, .note = std::string(1025, 'a')}).error().code,
            Errc::malformed);
}

TEST(Brain, a_job_that_died_of_a_gpu_states_a_failure_of_hardware) {
  BrainRun run;
  run.run(20);
  kill_gpu(run);
  run.run(3, 0);
  run.add(JobEndRecord{.time = run.now(), .job = kJob, .outcome = Outcome::failed});
  run.advance(run.now() + 10s);
  const JobReport report = run.report();
  ASSERT_TRUE(report.failure.has_value());
  EXPECT_EQ(report.failure->kind, FailureKind::hardware);
  EXPECT_EQ(report.failure->culprit, (Entity{EntityKind::gpu, "n1", 3, ""}));
  EXPECT_EQ(report.outcome, Outcome::failed);
  EXPECT_EQ(report.state.health, JobHealth::ended);
}

TEST(Brain, an_unexplained_end_accuses_no_part_of_the_machine) {
  BrainRun run;
  run.run(20);
  run.add(ExitRecord{.time = run.now(), .job = kJob, .rank = 2, .signal = 6});
  run.run(3, 0);
  const std::vector<JobFinding> findings = run.report().findings;
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].effect, Effect::crash);
  EXPECT_EQ(findings[0].decision.choice, Choice::restart_in_place);
  EXPECT_THAT(findings[0].decision.because, Not(HasSubstr("machine failed")));
  EXPECT_EQ(run.report().failure->kind, FailureKind::unclear);
}

TEST(Brain, an_ended_job_is_remembered_longer_than_the_engine_does_and_bounded) {
  BrainOptions options;
  options.ended_jobs = 2;
  Brain brain(options);
  for (int at = 0; at < 4; ++at) {
    const WallTime time = kStart + std::chrono::minutes(at);
    const std::string job = "job" + std::to_string(at);
    brain.add(JobRecord{.time = time, .job = job, .ranks = {{.rank = 0, .node = "n0"}}});
    brain.add(JobEndRecord{.time = time + 10s, .job = job, .outcome = Outcome::completed});
    brain.advance(time + 10s);
  }
  for (WallTime now = kStart + 5min; now < kStart + 1h; now += 1min)
    brain.advance(now);
  std::vector<std::string> names;
  for (const JobReport& report : brain.reports())
    names.push_back(report.state.job);
  EXPECT_THAT(names, ElementsAre("job2", "job3"));
  brain.advance(kStart + std::chrono::days(8));
  EXPECT_THAT(brain.reports(), IsEmpty());
}

TEST(Brain, only_the_mode_act_wants_actions) {
  for (const Mode mode : {Mode::observe, Mode::recommend}) {
    BrainOptions options = acting(200);
    options.policy.mode = mode;
    BrainRun run(options);
    run.run(20);
    checkpoint(run);
    kill_gpu(run);
    run.run(3, 0);
    EXPECT_THAT(run.actions(), IsEmpty());
    ASSERT_FALSE(run.report().findings.empty());
    EXPECT_TRUE(run.report().findings[0].decision.is_recommendation);
  }
}

TEST(Brain, act_wants_one_action_against_the_dead_gpu_until_it_is_done) {
  BrainRun run(acting(200));
  run.run(20);
  checkpoint(run);
  kill_gpu(run);
  run.run(3, 0);
  ASSERT_THAT(run.actions(), SizeIs(1));
  EXPECT_EQ(run.actions()[0].request.choice, Choice::stop_now);
  EXPECT_EQ(run.actions()[0].request.culprit.node, "n1");
  EXPECT_EQ(run.actions()[0].owner, "Job ml/llama");
  run.brain().acted(run.actions()[0], run.now());
  run.run(30, 0);
  EXPECT_THAT(run.actions(), SizeIs(1));
}

TEST(Brain, an_action_that_nobody_did_is_offered_again) {
  BrainRun run(acting(200));
  run.run(20);
  checkpoint(run);
  kill_gpu(run);
  run.run(15, 0);
  EXPECT_THAT(run.actions(), SizeIs(2));
}

TEST(Brain, a_guard_rail_makes_an_action_a_recommendation_that_says_why) {
  BrainRun run(acting(0));  // the number of nodes is unknown
  run.run(20);
  checkpoint(run);
  kill_gpu(run);
  run.run(3, 0);
  EXPECT_THAT(run.actions(), IsEmpty());
  ASSERT_FALSE(run.report().findings.empty());
  EXPECT_TRUE(run.report().findings[0].decision.is_recommendation);
  EXPECT_THAT(run.report().findings[0].decision.because, HasSubstr("number of nodes"));
}

TEST(Brain, the_breaker_stops_actions_and_pages_a_person) {
  BrainRun run(acting(20));
  run.run(20);
  checkpoint(run);
  for (const char* node : {"n2", "n3", "n4", "n5"})
    run.add(NodeStateRecord{.time = run.now(), .node = node, .is_lost = true});
  kill_gpu(run);
  run.run(3, 0);
  EXPECT_THAT(run.actions(), IsEmpty());
  const auto page = std::ranges::find_if(
      run.alerts(), [](const Alert& alert) { return alert.title.find("guard rail") != std::string::npos; });
  ASSERT_NE(page, run.alerts().end());
  EXPECT_THAT(page->body, HasSubstr("became unhealthy"));
}

TEST(Brain, findings_that_nodes_had_before_their_agents_started_do_not_open_the_breaker) {
  BrainRun run(acting(20));
  run.run(20);
  checkpoint(run);
  for (const char* node : {"n2", "n3", "n4", "n5"})
    run.add(NodeFindingRecord{.time = run.now(),
                              .node = node,
                              .subject = "host",
                              .check = "host.kernel",
                              .reason = "old_kernel",
                              .health = Health::degraded,
                              .since = run.now() - 24h});
  kill_gpu(run);
  run.run(3, 0);
  EXPECT_THAT(run.actions(), Not(IsEmpty()));
}

NodeFindingRecord finding_of(const char* check, Health health) {
  return {.time = kStart, .node = "n0", .subject = "gpu/0", .check = check, .health = health};
}

TEST(NodeTroubles, a_node_becomes_unhealthy_once_until_all_troubles_end) {
  NodeTroubles troubles;
  EXPECT_FALSE(troubles.add(finding_of("a", Health::unknown)));
  EXPECT_EQ(troubles.add(finding_of("a", Health::failed)), (NodeTroubles::Trouble{"n0", kStart}));
  EXPECT_FALSE(troubles.add(finding_of("b", Health::degraded)));
  EXPECT_FALSE(troubles.add(finding_of("a", Health::healthy)));
  EXPECT_FALSE(troubles.add(finding_of("a", Health::failed)));
  EXPECT_FALSE(troubles.add(finding_of("a", Health::healthy)));
  EXPECT_FALSE(troubles.add(finding_of("b", Health::healthy)));
  EXPECT_EQ(troubles.add(finding_of("b", Health::failed)), (NodeTroubles::Trouble{"n0", kStart}));
}

TEST(NodeTroubles, a_trouble_begins_when_its_finding_begins_but_never_after_the_record) {
  NodeTroubles troubles;
  NodeFindingRecord old = finding_of("a", Health::failed);
  old.since = kStart - 24h;
  EXPECT_EQ(troubles.add(old), (NodeTroubles::Trouble{"n0", kStart - 24h}));
  NodeFindingRecord later = finding_of("a", Health::failed);
  later.node = "n1";
  later.since = kStart + 24h;
  EXPECT_EQ(troubles.add(later), (NodeTroubles::Trouble{"n1", kStart}));
}

}  // namespace
}  // namespace autopilot::jobs::brain_test
