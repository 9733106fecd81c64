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

}  // namespace
}  // namespace autopilot::agent::history_makers_test
