// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

#include "jobs/brain.hpp"

namespace autopilot::jobs::brain_restore_test {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr WallTime kBegin{std::chrono::hours(500000)};
constexpr const char* kTrain = "ml/llama";

BrainOptions options_of(Mode mode) {
  BrainOptions options;
  options.policy.mode = mode;
  options.cluster_nodes = 200;
  options.finishes_swaps = true;
  return options;
}

// A job of two nodes with four GPUs each, before one brain after another.
class Succession {
 public:
  explicit Succession(Mode mode = Mode::act) : mode_(mode), brain_(options_of(mode)) { introduce(); }

  // The next brain, with what the last one reports.
  void succeed(Duration pause = 30s) {
    std::vector<JobReport> reports = brain_.reports();
    brain_ = Brain(options_of(mode_));
    alerts_.clear();
    actions_.clear();
    now_ += pause;
    brain_.restore(std::move(reports), now_);
  }
  void restore(std::vector<JobReport> reports) {
    brain_ = Brain(options_of(mode_));
    brain_.restore(std::move(reports), now_);
  }
  void introduce(int attempt = 1, int ranks = 8) {
    for (const char* node : {"n0", "n1"})
      brain_.add(
          NodeRecord{.time = now_, .node = node, .gpus = 4, .idle_w = 90, .spin_w = 230, .busy_w = 640});
    JobRecord job{.time = now_, .job = kTrain, .name = "llama", .owner = "Job ml/llama", .attempt = attempt};
    for (int rank = 0; rank < ranks; ++rank)
      job.ranks.push_back({.rank = rank, .node = rank < 4 ? "n0" : "n1", .gpu = rank % 4, .role = "dp"});
    brain_.add(job);
  }
  // hangs: a process on n1 is stopped, so that no step ends.
  void run(int minutes, bool hangs = false) {
    for (int slot = 0; slot < 6 * minutes; ++slot) {
      now_ += 10s;
      for (const int node : {0, 1})
        brain_.add(window(node, hangs));
      for (int step = 0; step < 2 && !hangs; ++step)
        brain_.add(StepRecord{.time = now_ - 5s + 5s * step, .job = kTrain, .step = ++step_, .step_s = 5});
      advance();
    }
  }
  // Time passes without a record.
  void wait(int minutes) {
    for (int slot = 0; slot < 6 * minutes; ++slot) {
      now_ += 10s;
      advance();
    }
  }
  // A GPU of n1 falls off its bus, and the job dies of it.
  void kill_gpu() {
    brain_.add(XidRecord{.time = now_, .node = "n1", .gpu = 3, .xid = 79});
    for (int rank = 0; rank < 8; ++rank)
      brain_.add(ExitRecord{.time = now_ + 5s, .job = kTrain, .rank = rank, .code = 1});
  }
  void checkpoint() {
    for (const Edge edge : {Edge::begin, Edge::end})
      brain_.add(PhaseRecord{.time = now_, .job = kTrain, .phase = Phase::checkpoint, .edge = edge});
  }
  void advance() {
    brain_.advance(now_);
    for (Alert& alert : brain_.take_alerts())
      alerts_.push_back(std::move(alert));
    for (WantedAction& action : brain_.take_actions())
      actions_.push_back(std::move(action));
  }

  Brain& brain() { return brain_; }
  WallTime now() const { return now_; }
  JobReport report() const { return brain_.report(kTrain).value(); }
  JobFinding finding() const { return report().findings.at(0); }
  const std::vector<WantedAction>& actions() const { return actions_; }
  std::vector<AlertKind> alerts() const {
    std::vector<AlertKind> kinds;
    for (const Alert& alert : alerts_)
      if (alert.job == kTrain) kinds.push_back(alert.kind);
    return kinds;
  }

 private:
  WindowRecord window(int node, bool hangs) const {
    WindowRecord record{.time = now_, .length = 10s, .node = node == 0 ? "n0" : "n1"};
    Column power{Metric::gpu_power_w, {}}, util{Metric::gpu_util, {}}, tensor{Metric::gpu_tensor, {}},
        state{Metric::process_stopped, {}};
    for (int gpu = 0; gpu < 4; ++gpu) {
      record.gpus.push_back(gpu);
      record.processes.push_back({kTrain, node * 4 + gpu});
      power.values.push_back(hangs ? 230 : 600);
      util.values.push_back(0.99F);
      tensor.values.push_back(hangs ? 0 : 0.4F);
      state.values.push_back(hangs && node == 1 && gpu == 1 ? 1 : 0);
    }
    record.columns = {power, util, tensor, state};
    return record;
  }

  Mode mode_;
  Brain brain_;
  WallTime now_ = kBegin;
  std::int64_t step_ = 0;
  std::vector<Alert> alerts_;
  std::vector<WantedAction> actions_;
};

TEST(BrainRestore, an_open_finding_keeps_its_id_and_is_not_sent_again) {
  Succession run(Mode::recommend);
  run.run(20);
  run.run(10, true);
  const JobFinding before = run.finding();
  ASSERT_EQ(before.effect, Effect::hang);
  run.succeed();
  run.introduce();
  run.run(1, true);
  EXPECT_EQ(run.finding().id, before.id);
  EXPECT_EQ(run.finding().onset, before.onset);
  EXPECT_FALSE(run.finding().is_confirmed);
  EXPECT_THAT(run.finding().decision.because, HasSubstr("began anew"));
  run.run(15, true);
  EXPECT_EQ(run.finding().id, before.id);
  EXPECT_THAT(run.alerts(), IsEmpty());
}

TEST(BrainRestore, the_end_of_a_restored_finding_is_sent_once) {
  Succession run(Mode::recommend);
  run.run(20);
  run.run(10, true);
  run.succeed();
  run.introduce();
  run.run(20);
  EXPECT_THAT(run.alerts(), ElementsAre(AlertKind::resolved));
  ASSERT_THAT(run.report().findings, SizeIs(1));
  EXPECT_TRUE(run.finding().resolved.has_value());
}

TEST(BrainRestore, ranks_that_become_known_by_and_by_end_no_finding) {
  Succession run(Mode::recommend);
  run.run(20);
  run.run(10, true);
  run.succeed();
  run.introduce(1, 4);
  run.run(1, true);
  run.introduce(1, 8);
  run.run(1, true);
  EXPECT_FALSE(run.finding().resolved.has_value());
  EXPECT_THAT(run.alerts(), IsEmpty());
}

TEST(BrainRestore, a_job_that_restarted_meanwhile_no_longer_hangs) {
  Succession run(Mode::recommend);
  run.run(20);
  run.run(10, true);
  run.succeed();
  run.introduce(2);
  run.advance();
  run.run(1);
  EXPECT_TRUE(run.finding().resolved.has_value());
  EXPECT_THAT(run.alerts(), ElementsAre(AlertKind::resolved));
}

TEST(BrainRestore, a_job_that_no_record_names_has_ended) {
  Succession run(Mode::recommend);
  run.run(20);
  run.run(10, true);
  run.succeed();
  run.wait(10);
  EXPECT_FALSE(run.brain().report(kTrain));
  run.wait(10);
  EXPECT_TRUE(run.report().ended.has_value());
  EXPECT_THAT(run.finding().summary, HasSubstr("not seen again"));
  EXPECT_THAT(run.alerts(), ElementsAre(AlertKind::resolved));
}

TEST(BrainRestore, what_people_stated_holds) {
  Succession run(Mode::recommend);
  run.run(20);
  run.run(10, true);
  const std::string id = run.finding().id;
  ASSERT_TRUE(run.brain().acknowledge({.time = run.now(), .finding = id, .by = "ann"}));
  ASSERT_TRUE(run.brain().state_feedback({.time = run.now(),
                                          .finding = id,
                                          .verdict = Verdict::confirmed,
                                          .by = "ann",
                                          .note = "a loose cable"}));
  ASSERT_TRUE(run.brain().mute(kTrain, run.now() + 20min));
  run.succeed();
  run.introduce();
  run.run(1, true);
  EXPECT_TRUE(run.report().is_muted);
  ASSERT_THAT(run.report().acknowledged, SizeIs(1));
  EXPECT_EQ(run.report().acknowledged[0].by, "ann");
  ASSERT_THAT(run.report().feedback, SizeIs(1));
  EXPECT_EQ(run.report().feedback[0].note, "a loose cable");
  run.run(20, true);
  EXPECT_FALSE(run.report().is_muted) << "the mute has its end";
  EXPECT_THAT(run.alerts(), IsEmpty()) << "a person knows of the finding";
}

TEST(BrainRestore, nothing_acts_before_new_windows_confirm_the_finding) {
  Succession run;
  run.run(20);
  run.checkpoint();
  run.kill_gpu();
  run.run(3, true);
  ASSERT_THAT(run.actions(), SizeIs(1)) << "wanted, and not done";
  run.succeed();
  run.introduce();
  run.run(10, true);
  EXPECT_THAT(run.actions(), IsEmpty());
  EXPECT_FALSE(run.finding().is_confirmed);
}

TEST(BrainRestore, an_automatic_stop_counts_for_six_hours) {
  Succession run;
  run.run(20);
  run.checkpoint();
  run.kill_gpu();
  run.run(3, true);
  ASSERT_THAT(run.actions(), SizeIs(1));
  run.brain().acted(run.actions()[0], run.now());
  run.succeed();
  run.introduce(2);
  run.run(20);
  run.kill_gpu();
  run.run(5, true);
  EXPECT_THAT(run.actions(), IsEmpty());
  const auto findings = run.report().findings;
  EXPECT_TRUE(std::ranges::any_of(findings, [](const JobFinding& finding) {
    return finding.decision.because.find("within the last") != std::string::npos;
  })) << findings.at(0).decision.because;
}

TEST(BrainRestore, actions_of_the_future_count_as_of_now) {
  Succession run;
  JobReport hostile;
  hostile.state.job = "ml/other";
  hostile.done.assign(3, {.time = run.now() + std::chrono::hours(24 * 3650),
                          .choice = Choice::stop_now,
                          .culprit = {EntityKind::host, "n9", -1, ""}});
  run.restore({hostile});
  run.introduce();
  run.run(20);
  run.checkpoint();
  run.kill_gpu();
  run.run(3, true);
  EXPECT_THAT(run.actions(), IsEmpty()) << "three nodes were evicted in the last hour";
  run.run(45, true);
  EXPECT_THAT(run.actions(), Not(IsEmpty()));
}

TEST(BrainRestore, a_finding_that_windows_confirm_acts) {
  Succession run;
  run.run(20);
  run.checkpoint();
  run.run(10, true);
  const std::string id = run.finding().id;
  run.succeed();
  run.introduce();
  run.run(60, true);
  EXPECT_EQ(run.finding().id, id);
  EXPECT_TRUE(run.finding().is_confirmed);
}

// The node of the finding is held for a swap at the next checkpoint.
WantedAction begin_swap(Succession& run) {
  WantedAction swap{.finding = run.finding(), .request = {}, .owner = "Job ml/llama"};
  swap.request = {.job = kTrain,
                  .choice = Choice::swap_at_checkpoint,
                  .culprit = swap.finding.culprit,
                  .cause = swap.finding.cause,
                  .is_known = true};
  run.brain().acted(swap, run.now());
  return swap;
}

std::vector<ActionPart> parts_of(const std::vector<WantedAction>& actions) {
  std::vector<ActionPart> parts;
  for (const WantedAction& action : actions)
    parts.push_back(action.part);
  return parts;
}

TEST(BrainSwap, the_second_half_follows_a_checkpoint_and_is_wanted_until_it_is_done) {
  Succession run;
  run.run(20);
  run.run(10, true);
  begin_swap(run);
  run.run(5, true);
  EXPECT_THAT(run.actions(), IsEmpty());
  run.checkpoint();
  run.run(1, true);
  ASSERT_THAT(parts_of(run.actions()), ElementsAre(ActionPart::after_checkpoint));
  EXPECT_THAT(run.actions()[0].why, HasSubstr("a checkpoint ended"));
  EXPECT_EQ(run.actions()[0].request.choice, Choice::swap_at_checkpoint);
  run.brain().acted(run.actions()[0], run.now());
  run.run(60, true);
  EXPECT_THAT(run.actions(), SizeIs(1));
}

TEST(BrainSwap, moves_nothing_in_another_mode_than_act) {
  Succession run(Mode::recommend);
  run.run(20);
  run.run(10, true);
  begin_swap(run);
  run.checkpoint();
  run.run(60, true);
  EXPECT_THAT(run.actions(), IsEmpty());
}

TEST(BrainSwap, waits_while_the_breaker_is_open) {
  Succession run;
  run.run(20);
  run.run(10, true);
  begin_swap(run);
  for (int node = 100; node < 115; ++node)
    run.brain().add(NodeStateRecord{.time = run.now(), .node = "n" + std::to_string(node), .is_lost = true});
  run.run(1, true);
  run.checkpoint();
  run.run(10, true);
  EXPECT_THAT(run.actions(), IsEmpty());
  run.run(30, true);
  EXPECT_THAT(parts_of(run.actions()), Contains(ActionPart::after_checkpoint));
}

TEST(BrainSwap, is_given_up_once_without_a_checkpoint) {
  Succession run;
  run.run(20);
  run.run(10, true);
  const WantedAction swap = begin_swap(run);
  run.run(180, true);
  ASSERT_THAT(parts_of(run.actions()), ElementsAre(ActionPart::given_up));
  EXPECT_EQ(run.actions()[0].finding.id, swap.finding.id);
  EXPECT_THAT(run.actions()[0].why, HasSubstr("no checkpoint ended within"));
}

TEST(BrainSwap, is_given_up_when_the_finding_is_over) {
  Succession run;
  run.run(20);
  run.run(10, true);
  begin_swap(run);
  run.run(10);
  ASSERT_THAT(parts_of(run.actions()), ElementsAre(ActionPart::given_up));
  EXPECT_THAT(run.actions()[0].why, HasSubstr("the finding is over"));
}

TEST(BrainSwap, the_next_brain_goes_on_after_windows_confirmed_the_finding) {
  Succession run;
  run.run(20);
  run.run(10, true);
  begin_swap(run);
  run.succeed();
  run.introduce();
  run.checkpoint();
  run.run(1, true);
  EXPECT_THAT(run.actions(), IsEmpty()) << "not confirmed yet";
  run.run(60, true);
  EXPECT_THAT(parts_of(run.actions()), Contains(ActionPart::after_checkpoint));
}

}  // namespace
}  // namespace autopilot::jobs::brain_restore_test
