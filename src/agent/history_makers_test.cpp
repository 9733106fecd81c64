// SPDX-License-Identifier: Apache-2.0
#include "agent/history_makers.hpp"

#include <chrono>
#include <gtest/gtest.h>

#include "agent/history_facts.hpp"
#include "store/history/history.hpp"
#include "store/journal.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::agent::history_makers_test {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr WallTime kTime{hours(500'000)};

class HistoryMakers : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = store::History::open(folder_ / "history.db", kTime);
    ASSERT_TRUE(opened) << opened.error().what;
    history_ = std::move(opened->history);
  }
  // Stores what it makes; the number of records.
  std::size_t apply(const store::HistoryWriter::Make& make) {
    const auto made = make(*history_);
    EXPECT_TRUE(made) << made.error().what;
    if (!made) return 0;
    const Status stored = history_->put(*made);
    EXPECT_TRUE(stored) << stored.error().what;
    return made->size();
  }
  template <class Record>
  std::vector<Record> stored(const std::string& type) {
    std::vector<Record> found;
    const auto records = history_->records({.types = {type}, .is_oldest_first = true});
    EXPECT_TRUE(records) << records.error().what;
    for (const auto& record : records.value_or(std::vector<learning::HistoryRecord>{}))
      found.push_back(std::get<Record>(record));
    return found;
  }

  host::TestFolder folder_;
  std::unique_ptr<store::History> history_;
};

learning::NodeJob requeued(Duration start, std::optional<Duration> end = {}) {
  learning::NodeJob job;
  job.place.node = "n1";
  job.job = "slurm/17";
  job.start = kTime + start;
  if (end) job.end = kTime + *end;
  return job;
}

TEST_F(HistoryMakers, a_job_that_runs_again_is_not_ended_by_the_validation_of_its_first_run) {
  apply(continue_job(requeued({})));
  apply(continue_job(requeued(hours{1}, hours{1})));
  apply(continue_job(requeued(hours{1} + seconds{5})));
  learning::NodeJob ended = requeued(seconds{3}, hours{1});
  ended.outcome = learning::JobOutcome::failed;
  ended.failure = "hardware";
  apply(explain_job(ended));
  const auto jobs = stored<learning::NodeJob>("job");
  ASSERT_EQ(jobs.size(), 2U);
  EXPECT_EQ(jobs[0].end, kTime + hours{1});
  EXPECT_EQ(jobs[0].failure, "hardware");
  EXPECT_EQ(jobs[1].end, std::nullopt) << "it still runs";
  EXPECT_EQ(jobs[1].failure, "");
}

Incident incident_of_gpu(const std::string& id, const std::string& serial) {
  Incident incident;
  incident.id = id;
  incident.check = "gpu.xid";
  incident.reason = "xid_79";
  incident.blamed.kind = SubjectKind::gpu;
  incident.blamed.key = "0000:3b:00.0";
  incident.blamed.serial = serial;
  incident.health = Health::failed;
  incident.summary = "GPU 1 has fallen off the bus";
  incident.opened = kTime;
  return incident;
}

TEST_F(HistoryMakers, a_fault_keeps_its_card_when_the_card_no_longer_answers) {
  Incident incident = incident_of_gpu("a-1", "S1");
  apply(note_faults({fault_of(incident, "n1", {})}));
  incident.blamed.serial = std::string();
  incident.summary.clear();
  EXPECT_EQ(apply(note_faults({fault_of(incident, "n1", {})})), 0U) << "nothing new is known";
  incident.closed = kTime + hours{2};
  EXPECT_EQ(apply(note_faults({fault_of(incident, "n1", {})})), 1U);
  const auto faults = stored<learning::Fault>("fault");
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].place.gpu, "S1");
  EXPECT_EQ(faults[0].text, "GPU 1 has fallen off the bus");
  EXPECT_EQ(faults[0].end, kTime + hours{2});
}

TEST_F(HistoryMakers, a_fault_whose_culprit_becomes_the_host_loses_the_card) {
  Incident incident = incident_of_gpu("a-1", "S1");
  apply(note_faults({fault_of(incident, "n1", {})}));
  incident.blamed = host_subject();
  apply(note_faults({fault_of(incident, "n1", {})}));
  EXPECT_EQ(stored<learning::Fault>("fault").at(0).place.gpu, "");
}

TEST_F(HistoryMakers, an_agent_that_starts_takes_over_only_what_history_lacks) {
  Incident known = incident_of_gpu("a-1", "S1");
  apply(note_faults({fault_of(known, "n1", {})}));
  const std::string path = folder_ / "journal.db";
  {
    auto journal = store::Journal::open(path, kTime);
    ASSERT_TRUE(journal) << journal.error().what;
    known.blamed.serial = std::string();
    store::Batch batch;
    batch.incidents = {known, incident_of_gpu("a-2", "S2")};
    ASSERT_TRUE(journal->journal->commit(batch));
  }
  EXPECT_EQ(apply(take_over_incidents(path, "n1", false)), 1U);
  const auto faults = stored<learning::Fault>("fault");
  ASSERT_EQ(faults.size(), 2U);
  EXPECT_EQ(faults[0].place.gpu, "S1");
  EXPECT_EQ(faults[1].place.gpu, "S2");
  EXPECT_EQ(apply(take_over_incidents(path, "n1", false)), 0U);
}

SeenFault hit_of(const std::string& id, const std::string& job, const std::string& node = "n1") {
  jobs::JobFinding finding;
  finding.id = id;
  finding.job = job;
  finding.effect = jobs::Effect::hang;
  finding.culprit = {jobs::EntityKind::gpu, node, 1, ""};
  finding.is_confirmed = true;
  finding.onset = finding.detected = kTime + minutes{30};
  finding.summary = "GPU 1 hangs";
  return fault_of(finding, "n1", {}).value_or(SeenFault{});
}

TEST_F(HistoryMakers, a_finding_that_an_earlier_agent_left_open_ends_with_its_job) {
  apply(continue_job(requeued({})));
  apply(continue_job(requeued(hours{1}, hours{1})));
  apply(note_faults({hit_of("0", "slurm/17"), hit_of("1", "gone"), hit_of("2", "runs")}));
  EXPECT_EQ(apply(end_absent(
                {.node = "n1", .begin = kTime + hours{5}, .jobs = {"runs"}, .faults = {"n1/job-finding/2"}})),
            2U);
  const auto faults = stored<learning::Fault>("fault");
  ASSERT_EQ(faults.size(), 3U);
  for (const learning::Fault& fault : faults) {
    if (fault.job == "slurm/17") EXPECT_EQ(fault.end, kTime + hours{1});
    if (fault.job == "gone") EXPECT_EQ(fault.end, kTime + hours{5}) << "not known better";
    if (fault.job == "runs") EXPECT_EQ(fault.end, std::nullopt) << "this agent reports it";
  }
}

TEST_F(HistoryMakers, an_agent_that_starts_ends_no_other_faults) {
  const Incident incident = incident_of_gpu("a-1", "S1");
  apply(note_faults({fault_of(incident, "n1", {}), hit_of("0", "elsewhere", "n2")}));
  EXPECT_EQ(apply(end_absent({.node = "n1", .begin = kTime + hours{5}})), 0U)
      << "an incident of this node, and a fault that was imported from another one";
  apply(note_faults({hit_of("1", "here")}));
  EXPECT_EQ(apply(end_absent({.node = "n1", .begin = kTime + hours{5}, .are_faults_complete = false})), 0U);
}

TEST_F(HistoryMakers, a_finding_in_a_shared_history_ends_only_with_its_job) {
  apply(continue_job(requeued({})));
  apply(continue_job(requeued(hours{1}, hours{1})));
  apply(note_faults({hit_of("0", "slurm/17"), hit_of("1", "reported by another agent")}));
  EXPECT_EQ(apply(end_absent({.node = "n1", .begin = kTime + hours{5}, .is_history_shared = true})), 1U);
  EXPECT_EQ(stored<learning::Fault>("fault").at(0).end, kTime + hours{1});
}

TEST_F(HistoryMakers, a_job_that_no_agent_saw_end_ends_at_the_start_of_the_next_one) {
  apply(continue_job(requeued({})));
  EXPECT_EQ(apply(end_absent({.node = "n1", .begin = kTime + hours{5}, .jobs = {"slurm/17"}})), 0U);
  EXPECT_EQ(apply(end_absent({.node = "n1", .begin = kTime + hours{5}})), 1U);
  EXPECT_EQ(stored<learning::NodeJob>("job").at(0).end, kTime + hours{5});
}

}  // namespace
}  // namespace autopilot::agent::history_makers_test
