// SPDX-License-Identifier: Apache-2.0
#include "agent/history_facts.hpp"

#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "learning/record_check.hpp"

namespace autopilot::agent::history_facts_test {
namespace {

using learning::FaultClass;
using std::chrono::hours;
using testing::ElementsAre;

constexpr WallTime kTime{hours(500'000)};

Subject subject_of(SubjectKind kind, const std::string& key, const std::string& serial = {}) {
  Subject subject;
  subject.kind = kind;
  subject.key = key;
  subject.serial = serial;
  return subject;
}

GpuNames two_gpus() {
  NodeSnapshot snapshot;
  Observations observations;
  for (int index : {0, 1}) {
    Observation& observation = observations.emplace_back();
    observation.name = "gpu.state";
    observation.subject = subject_of(SubjectKind::gpu, index == 0 ? "0000:19:00.0" : "0000:3b:00.0",
                                     "S" + std::to_string(index));
    observation.subject.index = index;
  }
  CheckResult result;
  result.check = "gpu.driver";
  result.health = Health::healthy;
  result.completed = kTime;
  Observation& version = observations.emplace_back();
  version.name = "driver.version";
  version.value = std::string("570.86.15");
  result.observations = observations;
  snapshot.results.push_back(result);
  EXPECT_EQ(driver_version_in(snapshot), "570.86.15");
  GpuNames names;
  EXPECT_TRUE(names.learn(snapshot));
  EXPECT_FALSE(names.learn(snapshot));
  return names;
}

Incident incident_of(const Subject& blamed) {
  Incident incident;
  incident.id = "0123abcd-12";
  incident.check = "gpu.xid";
  incident.reason = "xid_79";
  incident.blamed = blamed;
  incident.health = Health::failed;
  incident.action = Action::power_cycle;
  incident.confidence = 0.9;
  incident.summary = "GPU 1 has fallen off the bus";
  incident.opened = kTime;
  IncidentMember member;
  member.finding.health = Health::failed;
  member.finding.since = kTime - std::chrono::seconds{2};
  incident.members.push_back(member);
  return incident;
}

TEST(HistoryFacts, a_fault_has_the_versions_of_the_learned_thresholds_that_found_it) {
  Incident incident = incident_of(subject_of(SubjectKind::gpu, "0000:3b:00.0"));
  EXPECT_EQ(fault_of(incident, "n1", two_gpus()).fault.versions, "");
  incident.members.front().finding.evidence = {{"thresholdSource", "configuration"}};
  EXPECT_EQ(fault_of(incident, "n1", two_gpus()).fault.versions, "");
  for (const char* version : {"bb", "aa", "bb"}) {
    IncidentMember member;
    member.finding.evidence = {{"thresholdSource", std::string("learned, version ") + version}};
    incident.members.push_back(member);
  }
  EXPECT_EQ(fault_of(incident, "n1", two_gpus()).fault.versions, "threshold aa, threshold bb");
}

TEST(HistoryFacts, an_incident_of_a_gpu_is_a_fault_of_its_card) {
  const auto fault =
      fault_of(incident_of(subject_of(SubjectKind::gpu, "0000:3b:00.0")), "n1", two_gpus()).fault;
  EXPECT_EQ(fault.id, "n1/0123abcd-12");
  EXPECT_EQ(fault.place.node, "n1");
  EXPECT_EQ(fault.place.gpu, "S1");
  EXPECT_EQ(fault.begin, kTime - std::chrono::seconds{2});
  EXPECT_EQ(fault.detected, kTime);
  EXPECT_EQ(fault.end, std::nullopt);
  EXPECT_EQ(fault.kind, FaultClass::hardware);
  EXPECT_EQ(fault.action, Action::power_cycle);
  EXPECT_TRUE(learning::check(fault));
}

TEST(HistoryFacts, a_closed_incident_keeps_the_worst_health) {
  Incident incident = incident_of(host_subject());
  incident.health = Health::healthy;
  incident.closed = kTime + hours{1};
  const auto fault = fault_of(incident, "n1", {}).fault;
  EXPECT_EQ(fault.health, Health::failed);
  EXPECT_EQ(fault.end, kTime + hours{1});
}

TEST(HistoryFacts, a_clock_that_is_set_back_does_not_end_a_fault_before_its_begin) {
  Incident incident = incident_of(host_subject());
  incident.closed = kTime - hours{1};
  EXPECT_TRUE(learning::check(fault_of(incident, "n1", {}).fault));
}

TEST(HistoryFacts, the_class_follows_the_culprit) {
  const auto class_of = [](SubjectKind kind, std::optional<FaultEnd> end, Action action) {
    Incident incident = incident_of(subject_of(kind, "x"));
    incident.end = end;
    incident.action = action;
    return fault_of(incident, "n1", {}).fault.kind;
  };
  EXPECT_EQ(class_of(SubjectKind::gpu, FaultEnd::hardware, Action::replace), FaultClass::hardware);
  EXPECT_EQ(class_of(SubjectKind::gpu, FaultEnd::application, Action::restart_app), FaultClass::application);
  EXPECT_EQ(class_of(SubjectKind::nic_port, std::nullopt, Action::none), FaultClass::network);
  EXPECT_EQ(class_of(SubjectKind::host, std::nullopt, Action::update_software), FaultClass::software);
  EXPECT_EQ(class_of(SubjectKind::host, FaultEnd::hardware, Action::none), FaultClass::hardware);
  EXPECT_EQ(class_of(SubjectKind::host, FaultEnd::unclear, Action::none), FaultClass::unknown);
}

TEST(HistoryFacts, a_merged_incident_does_not_count_twice) {
  Incident incident = incident_of(host_subject());
  incident.closed = kTime;
  incident.closed_by = "merged_into:0123abcd-9";
  const auto fault = fault_of(incident, "n1", {}).fault;
  EXPECT_EQ(fault.confidence, 0);
  EXPECT_EQ(fault.text, "part of n1/0123abcd-9");
}

TEST(HistoryFacts, an_acknowledgement_is_a_label_of_its_fault) {
  Incident incident = incident_of(subject_of(SubjectKind::gpu, "0000:19:00.0"));
  EXPECT_EQ(acknowledgement_of(incident, "n1", {}), std::nullopt);
  incident.acknowledged = Acknowledgement{.by = "alice (uid 1000)", .at = kTime, .reason = "card ordered"};
  const auto label = acknowledgement_of(incident, "n1", two_gpus());
  ASSERT_TRUE(label);
  EXPECT_EQ(label->fault, "n1/0123abcd-12");
  EXPECT_EQ(label->place.gpu, "S0");
  EXPECT_EQ(label->answer, learning::LabelAnswer::unclear);
  EXPECT_EQ(label->note, "card ordered");
  EXPECT_TRUE(learning::check(*label));
}

jobs::JobFinding finding_about(jobs::EntityKind kind, const std::string& node) {
  jobs::JobFinding finding;
  finding.id = "00c0ffee";
  finding.job = "ml/train";
  finding.effect = jobs::Effect::hang;
  finding.culprit = {kind, node, 1, ""};
  finding.cause = "hang";
  finding.probability = 0.8;
  finding.onset = finding.detected = kTime;
  finding.summary = "GPU 1 of n1 hangs";
  return finding;
}

TEST(HistoryFacts, a_finding_about_a_job_is_a_fault_of_what_it_names) {
  const auto seen = fault_of(finding_about(jobs::EntityKind::gpu, "n1"), "n1", two_gpus());
  ASSERT_TRUE(seen);
  const auto* fault = &seen->fault;
  EXPECT_EQ(fault->place.gpu, "S1");
  EXPECT_EQ(fault->kind, FaultClass::hardware);
  EXPECT_EQ(fault->health, Health::failed);
  EXPECT_TRUE(learning::check(*fault));
  const auto other = fault_of(finding_about(jobs::EntityKind::gpu, "n2"), "n1", two_gpus());
  ASSERT_TRUE(other);
  EXPECT_EQ(other->fault.place.node, "n2");
  EXPECT_EQ(other->fault.place.gpu, "") << "the serial of a card of another node is not known here";
  EXPECT_FALSE(fault_of(finding_about(jobs::EntityKind::program, ""), "n1", {}));
  EXPECT_FALSE(fault_of(finding_about(jobs::EntityKind::leaf, "leaf-1"), "n1", {}));
}

TEST(HistoryFacts, feedback_is_a_label) {
  jobs::JobReport report;
  report.findings.push_back(finding_about(jobs::EntityKind::gpu, "n1"));
  const jobs::Feedback feedback{
      .time = kTime, .finding = "00c0ffee", .verdict = jobs::Verdict::refuted, .by = "bob", .note = "no"};
  const auto label = label_of(feedback, report, "n1", two_gpus());
  ASSERT_TRUE(label);
  EXPECT_EQ(label->answer, learning::LabelAnswer::healthy);
  EXPECT_EQ(label->fault, fault_of(report.findings.front(), "n1", {})->fault.id);
  EXPECT_FALSE(label_of({.time = kTime, .finding = "other"}, report, "n1", {}));
}

TEST(HistoryFacts, a_job_has_the_serials_of_its_gpus) {
  jobs::JobRecord record;
  record.time = kTime;
  record.job = "ml/train";
  record.ranks = {{.rank = 0, .node = "n1", .gpu = 1}, {.rank = 1, .node = "n1", .gpu = 0}};
  EXPECT_THAT(node_job_of(record, "n1", two_gpus()).gpus, ElementsAre("S0", "S1"));
}

TEST(HistoryFacts, a_job_continues_over_a_restart_of_the_agent) {
  jobs::JobRecord record;
  record.time = kTime;
  record.job = "ml/train";
  const auto first = continued(std::nullopt, node_job_of(record, "n1", {}));
  ASSERT_TRUE(first);
  record.time = kTime + hours{1};
  const auto again = continued(*first, node_job_of(record, "n1", {}));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->id, first->id);
  EXPECT_EQ(again->start, kTime);
  const auto over = continued(*again, node_job_of(jobs::JobEndRecord{.time = kTime + hours{2},
                                                                     .job = "ml/train",
                                                                     .outcome = jobs::Outcome::failed},
                                                  "n1"));
  ASSERT_TRUE(over);
  EXPECT_EQ(over->id, first->id);
  EXPECT_EQ(over->end, kTime + hours{2});
  EXPECT_EQ(over->outcome, learning::JobOutcome::failed);
  record.time = kTime + hours{3};
  const auto next = continued(*over, node_job_of(record, "n1", {}));
  ASSERT_TRUE(next);
  EXPECT_NE(next->id, first->id) << "a job of the same name that starts later is another run";
  EXPECT_FALSE(continued(*over, node_job_of(jobs::JobEndRecord{.time = kTime, .job = "ml/train"}, "n1")))
      << "an end without a begin";
}

TEST(HistoryFacts, a_validation_explains_the_job_that_history_has) {
  jobs::JobRecord record;
  record.time = kTime;
  record.job = "ml/train";
  const auto running = continued(std::nullopt, node_job_of(record, "n1", {}));
  learning::NodeJob ended;
  ended.id = "of the validation";
  ended.place.node = "n1";
  ended.job = "ml/train";
  ended.start = kTime + std::chrono::seconds(9);
  ended.end = kTime + hours{1};
  ended.gpus = {"GPU-0"};
  ended.outcome = learning::JobOutcome::failed;
  ended.failure = "application";
  const learning::NodeJob job = explained(running, ended);
  EXPECT_EQ(job.id, running->id);
  EXPECT_EQ(job.start, kTime);
  EXPECT_EQ(job.end, kTime + hours{1});
  EXPECT_THAT(job.gpus, testing::ElementsAre("GPU-0"));
  EXPECT_EQ(job.failure, "application");
  EXPECT_EQ(job.outcome, learning::JobOutcome::failed);
  const learning::NodeJob unknown = explained(std::nullopt, ended);
  EXPECT_NE(unknown.id, ended.id);
  EXPECT_EQ(unknown.failure, "application");
}

learning::NodeJob job_run(const std::string& id, Duration start, std::optional<Duration> end) {
  learning::NodeJob run;
  run.id = id;
  run.place.node = "n1";
  run.job = "slurm/17";
  run.start = kTime + start;
  if (end) run.end = kTime + *end;
  return run;
}

std::string id_of_run(const std::vector<learning::NodeJob>& runs, const learning::NodeJob& ended) {
  const auto run = run_of(runs, ended);
  return run ? run->id : "none";
}

TEST(HistoryFacts, the_end_of_a_run_is_not_that_of_the_next_one) {
  using std::chrono::minutes;
  using std::chrono::seconds;
  const learning::NodeJob ended = job_run("", seconds{9}, hours{1});
  const learning::NodeJob next = job_run("second", hours{1} + seconds{1}, std::nullopt);
  EXPECT_EQ(id_of_run({next, job_run("first", {}, std::nullopt)}, ended), "first");
  EXPECT_EQ(id_of_run({next}, ended), "none") << "it began after the end";
  const learning::NodeJob late = job_run("", seconds{9}, hours{1} + seconds{20});
  EXPECT_EQ(id_of_run({next, job_run("first", {}, hours{1})}, late), "first");
  EXPECT_EQ(id_of_run({next}, late), "none") << "the end was seen after the next run began";
  const learning::NodeJob after_restart = job_run("", minutes{55}, hours{1} + seconds{20});
  EXPECT_EQ(id_of_run({next, job_run("first", {}, hours{1})}, after_restart), "first")
      << "an agent that starts sees a job that runs for an hour";
}

TEST(HistoryFacts, runs_of_seconds_are_distinguished) {
  using std::chrono::seconds;
  const std::vector runs{job_run("third", seconds{20}, std::nullopt),
                         job_run("second", seconds{10}, seconds{17}), job_run("first", {}, seconds{8})};
  EXPECT_EQ(id_of_run(runs, job_run("", seconds{1}, seconds{9})), "first");
  EXPECT_EQ(id_of_run(runs, job_run("", seconds{11}, seconds{18})), "second");
  EXPECT_EQ(id_of_run(runs, job_run("", seconds{9}, seconds{9})), "first") << "it was seen at its end only";
  EXPECT_EQ(id_of_run({}, job_run("", seconds{1}, seconds{9})), "none");
}

}  // namespace
}  // namespace autopilot::agent::history_facts_test
