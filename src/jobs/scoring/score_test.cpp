// SPDX-License-Identifier: Apache-2.0
#include "jobs/scoring/score.hpp"

#include <chrono>
#include <gtest/gtest.h>
#include <string>

namespace autopilot::jobs {
namespace {

using std::chrono::seconds;

constexpr int kDay = 86400;

WallTime at(int second) {
  return WallTime{seconds(second)};
}

FaultLabel fault(std::string id, int onset, int end, std::string node, Effect effect = Effect::slow) {
  FaultLabel label;
  label.id = std::move(id);
  label.fault_class = "gpu_clock";
  label.onset = at(onset);
  label.end = at(end);
  label.effect = effect;
  label.job = "j";
  label.node = std::move(node);
  return label;
}

Entity gpu(const std::string& node, int index = 0) {
  return {EntityKind::gpu, node, index, ""};
}

JobFinding finding(std::string id, Entity culprit, Effect effect = Effect::slow,
                   Severity severity = Severity::ticket) {
  JobFinding made;
  made.id = std::move(id);
  made.job = "j";
  made.culprit = std::move(culprit);
  made.effect = effect;
  made.severity = severity;
  return made;
}

// 100 nodes and one job for ten days.
class Case {
 public:
  Case() {
    for (int i = 0; i < 100; ++i) {
      NodeRecord node;
      node.node = "n" + std::to_string(i);
      run.add(Record(node));
    }
    JobRecord job;
    job.job = "j";
    run.add(Record(job));
    labels.begin = at(0);
    labels.end = at(10 * kDay);
  }
  void raise(int second, const JobFinding& what) { run.add(what, at(second)); }
  [[nodiscard]] Score score() const { return jobs::score(labels, run); }

  Labels labels;
  RunLog run;
};

TEST(Score, a_right_finding_detects_the_fault_once) {
  Case c;
  c.labels.faults = {fault("f", 100, 1000, "n1")};
  c.raise(160, finding("a", gpu("n1")));
  c.raise(400, finding("b", {EntityKind::host, "n1", -1, ""}));
  const Score score = c.score();
  EXPECT_EQ(score.detected, 1U);
  EXPECT_EQ(score.repeated, 1U);
  EXPECT_EQ(score.false_findings, 0U);
  EXPECT_EQ(score.precision->value, 1);
  EXPECT_EQ(score.recall->value, 1);
  EXPECT_EQ(score.delays.median_s, 60);
  EXPECT_EQ(score.first_is_right->value, 1);
  EXPECT_EQ(score.false_accusations.rate->value, 0);
  EXPECT_NEAR(score.false_accusations.exposure, 1, 1e-9) << "100 nodes for 10 days are 1,000 node-days";
}

TEST(Score, a_finding_counts_until_five_minutes_after_the_fault) {
  Case c;
  c.labels.faults = {fault("f", 100, 200, "n1"), fault("g", 10000, 10100, "n2")};
  c.raise(500, finding("a", gpu("n1")));
  c.raise(10401, finding("b", gpu("n2")));
  const Score score = c.score();
  EXPECT_EQ(score.detected, 1U);
  EXPECT_EQ(score.missed, std::vector<std::string>{"g"});
  EXPECT_EQ(score.false_accusations.events, 1U);
}

TEST(Score, an_accusation_before_the_onset_is_no_detection) {
  Case c;
  c.labels.faults = {fault("f", 100, 200, "n1")};
  auto early = finding("a", gpu("n1"));
  c.raise(50, early);
  EXPECT_EQ(c.score().detected, 0U);
  EXPECT_EQ(c.score().false_accusations.events, 0U) << "it still stands when the fault begins";
  early.resolved = at(60);
  c.raise(60, early);
  EXPECT_EQ(c.score().false_accusations.events, 1U);
}

TEST(Score, another_node_during_a_fault_is_a_wrong_culprit) {
  Case c;
  c.labels.faults = {fault("f", 100, 1000, "n1")};
  c.raise(200, finding("a", gpu("n2")));
  c.raise(300, finding("b", gpu("n1")));
  const Score score = c.score();
  EXPECT_EQ(score.wrong_culprits, 1U);
  EXPECT_EQ(score.false_accusations.events, 1U);
  EXPECT_EQ(score.detected, 1U);
  EXPECT_EQ(score.precision->value, 0.5);
  EXPECT_EQ(score.first_is_right->value, 0) << "the first accusation was wrong";
  EXPECT_EQ(score.wrong.at(0).what, "wrong_culprit");
}

TEST(Score, a_fault_of_another_job_explains_nothing_elsewhere) {
  Case c;
  auto other = fault("f", 100, 1000, "n1");
  other.job = "k";
  c.labels.faults = {other};
  c.raise(200, finding("a", gpu("n2")));
  c.raise(210, finding("b", gpu("n1")));
  const Score score = c.score();
  EXPECT_EQ(score.false_accusations.events, 1U);
  EXPECT_EQ(score.wrong_culprits, 0U);
  EXPECT_EQ(score.elsewhere, 1U) << "n1 is faulty, but not in this job";
  EXPECT_EQ(score.detected, 0U);
}

TEST(Score, a_blamed_confounder_is_listed_by_class) {
  Case c;
  c.labels.confounders = {{"data_skew", at(100), at(200), "j", ""},
                          {"checkpoint", at(100), at(200), "", "n7"}};
  c.raise(150, finding("a", gpu("n3")));
  c.raise(5000, finding("b", gpu("n3")));
  const Score score = c.score();
  EXPECT_EQ(score.blamed_confounders, 1U);
  EXPECT_EQ(score.confounders.at("data_skew"), 1U);
  EXPECT_EQ(score.false_accusations.events, 2U);
  EXPECT_NEAR(score.false_accusations.rate->value, 2, 1e-9);
  EXPECT_NEAR(score.false_accusations.rate->low, 0.2422, 1e-3);
}

TEST(Score, info_is_listed_and_not_counted_until_it_is_stronger) {
  Case c;
  c.labels.faults = {fault("f", 100, 1000, "n1")};
  c.raise(150, finding("a", gpu("n1"), Effect::slow, Severity::info));
  EXPECT_EQ(c.score().info, 1U);
  EXPECT_EQ(c.score().detected, 0U);
  c.raise(400, finding("a", gpu("n1")));
  EXPECT_EQ(c.score().info, 0U);
  EXPECT_EQ(c.score().delays.median_s, 300);
}

TEST(Score, the_program_may_be_named_or_left_open_but_no_node_may_be_accused) {
  Case c;
  c.labels.faults = {fault("f", 100, 200, ""), fault("g", 2000, 2100, ""), fault("h", 4000, 4100, "")};
  c.raise(150, finding("a", {EntityKind::program, "", -1, ""}));
  c.raise(2050, finding("b", {}));
  c.raise(4050, finding("c", gpu("n1")));
  const Score score = c.score();
  EXPECT_EQ(score.detected, 2U);
  EXPECT_EQ(score.wrong_culprits, 1U);
  EXPECT_NEAR(score.first_is_right->value, 0.5, 1e-9);
}

TEST(Score, what_cannot_be_localised_must_stay_unlocalised) {
  Case c;
  auto hidden = fault("f", 100, 1000, "n1");
  hidden.is_localisable = false;
  c.labels.faults = {hidden};
  c.raise(150, finding("a", gpu("n2")));
  EXPECT_EQ(c.score().detected, 0U);
  EXPECT_EQ(c.score().wrong_culprits, 1U);
  c.raise(160, finding("b", {}));
  EXPECT_EQ(c.score().detected, 1U);
}

TEST(Score, an_open_finding_during_a_fault_is_neither_right_nor_wrong) {
  Case c;
  c.labels.faults = {fault("f", 100, 1000, "n1")};
  c.raise(150, finding("a", {}));
  c.raise(5000, finding("b", {}));
  const Score score = c.score();
  EXPECT_EQ(score.unlocalised, 1U);
  EXPECT_EQ(score.false_findings, 1U) << "outside the fault it is a false alarm";
  EXPECT_EQ(score.false_accusations.events, 0U);
  EXPECT_EQ(score.recall->value, 0);
}

TEST(Score, a_leaf_is_not_its_nodes) {
  Case c;
  auto leaf = fault("f", 100, 1000, "");
  leaf.leaf = "leaf-1";
  c.labels.faults = {leaf};
  c.raise(150, finding("a", gpu("n1")));
  EXPECT_EQ(c.score().wrong_culprits, 1U);
  c.raise(160, finding("b", {EntityKind::leaf, "leaf-1", -1, ""}));
  EXPECT_EQ(c.score().detected, 1U);
}

TEST(Score, the_delay_of_a_hang_counts_from_the_last_step) {
  Case c;
  c.labels.faults = {fault("f", 100, 1000, "n1", Effect::hang)};
  StepRecord step;
  step.time = at(90);
  step.job = "j";
  c.run.add(Record(step));
  c.raise(250, finding("a", gpu("n1"), Effect::hang));
  const Score score = c.score();
  EXPECT_EQ(score.hang_delays.median_s, 160);
  EXPECT_EQ(score.delays.count, 0U);
  EXPECT_EQ(score.false_hangs.events, 0U);
}

TEST(Score, a_hang_without_a_hang_or_crash_is_false) {
  Case c;
  c.labels.faults = {fault("f", 100, 1000, "n1"), fault("g", 5000, 6000, "n1", Effect::crash)};
  c.raise(200, finding("a", gpu("n1"), Effect::hang));
  c.raise(5100, finding("b", {}, Effect::hang));
  c.raise(20000, finding("c", {}, Effect::hang));
  const Score score = c.score();
  EXPECT_EQ(score.false_hangs.events, 2U);
  EXPECT_NEAR(score.false_hangs.rate->value, 0.2, 1e-9) << "in ten job-days";
}

TEST(Score, a_node_without_a_job_is_detected_by_a_finding_about_the_node) {
  Case c;
  auto node = fault("f", 100, 1000, "n1", Effect::none);
  node.job.clear();
  c.labels.faults = {node};
  c.raise(150, finding("a", {EntityKind::nic, "n1", -1, "mlx5_0"}, Effect::none));
  EXPECT_EQ(c.score().detected, 1U);
}

TEST(Score, classes_and_magnitudes_are_separate) {
  Case c;
  c.labels.faults = {fault("f", 100, 200, "n1"), fault("g", 1000, 1100, "n2"), fault("h", 9000, 9100, "n3")};
  c.labels.faults[0].magnitude = 0.11;
  c.labels.faults[1].magnitude = 0.09;
  c.labels.faults[2].magnitude = 0.5;
  c.labels.faults[0].gpu = 3;
  c.labels.faults[1].gpu = 3;
  c.raise(130, finding("a", gpu("n1", 3)));
  c.raise(1050, finding("b", gpu("n2", 4)));
  const Score score = c.score();
  ASSERT_EQ(score.classes.size(), 2U);
  EXPECT_EQ(score.classes[0].magnitude, "10 %");
  EXPECT_EQ(score.classes[0].faults, 2U);
  EXPECT_EQ(score.classes[0].delays.median_s, 40);
  EXPECT_EQ(score.classes[0].delays.p90_s, 50);
  EXPECT_EQ(score.classes[1].magnitude, "50 %");
  EXPECT_EQ(score.classes[1].detected, 0U);
  EXPECT_EQ(score.part_is_right->value, 0.5) << "GPU 4 instead of GPU 3";
}

TEST(Score, without_labels_and_records_nothing_is_estimated) {
  const Score score = jobs::score({}, {});
  EXPECT_FALSE(score.precision);
  EXPECT_FALSE(score.recall);
  EXPECT_FALSE(score.f1);
  EXPECT_FALSE(score.false_accusations.rate);
}

TEST(Score, findings_outside_the_labelled_time_do_not_count) {
  Case c;
  c.raise(20 * kDay, finding("a", gpu("n1")));
  EXPECT_EQ(c.score().out_of_range, 1U);
  EXPECT_EQ(c.score().false_accusations.events, 0U);
}

TEST(RunLog, a_job_counts_while_it_runs) {
  RunLog run;
  JobRecord job;
  job.job = "j";
  job.time = at(kDay);
  run.add(Record(job));
  run.add(Record(JobEndRecord{at(2 * kDay), "j", Outcome::failed}));
  job.time = at(3 * kDay);
  run.add(Record(job));
  EXPECT_NEAR(run.exposure(at(0), at(5 * kDay)).job_days, 3, 1e-9);
  EXPECT_NEAR(run.exposure(std::nullopt, std::nullopt).job_days, 1, 1e-9);
}

TEST(RunLog, findings_beyond_the_limit_are_counted) {
  RunLog run;
  for (std::size_t i = 0; i <= RunLog::kMaxFindings; ++i)
    run.add(finding(std::to_string(i), gpu("n1")), at(0));
  EXPECT_EQ(run.findings().size(), RunLog::kMaxFindings);
  EXPECT_EQ(run.dropped(), 1U);
}

}  // namespace
}  // namespace autopilot::jobs
