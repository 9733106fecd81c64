// SPDX-License-Identifier: Apache-2.0
#include "store/journal.hpp"

#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <sys/stat.h>

#include "tests/support/host/test_folder.hpp"
#include "tests/support/store/journal_fixture.hpp"

namespace autopilot::store {
namespace {

using std::chrono::hours;
using testing::batch_of;
using ::testing::ElementsAre;
using testing::event;
using ::testing::IsEmpty;
using testing::kNow;
using ::testing::SizeIs;

class JournalTest : public ::testing::Test {
 protected:
  std::unique_ptr<Journal> open() {
    auto opened = Journal::open(path_, kNow);
    EXPECT_TRUE(opened) << opened.error().what;
    EXPECT_EQ(opened->moved_aside, "") << opened->reason;
    return std::move(opened->journal);
  }
  static std::vector<std::string> messages(const Journal& journal, const EventQuery& query = {}) {
    std::vector<std::string> messages;
    const auto events = journal.events(query).value();
    for (const auto& event : events)
      messages.push_back(event.message);
    return messages;
  }

  host::TestFolder folder_;
  std::string path_ = folder_ / "a/b/journal.db";
};

mode_t mode_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 0777;
}

Subject gpu() {
  Subject subject;
  subject.kind = SubjectKind::gpu;
  subject.key = "0000:3b:00.0";
  subject.index = 3;
  subject.uuid = "GPU-1";
  subject.serial = "S1";
  return subject;
}

TEST_F(JournalTest, is_for_its_owner_only) {
  const auto journal = open();
  ASSERT_TRUE(journal->commit(batch_of(event("one"))));
  EXPECT_EQ(mode_of(folder_ / "a"), 0700U);
  EXPECT_EQ(mode_of(folder_ / "a/b"), 0700U);
  for (const auto* ending : {"", "-wal", "-shm", ".lock"})
    EXPECT_EQ(mode_of(path_ + ending), 0600U) << ending;
}

TEST_F(JournalTest, numbers_events_on_and_on) {
  auto journal = open();
  Batch batch;
  batch.events = {event("one"), event("two")};
  EXPECT_THAT(journal->commit(batch).value(), ElementsAre(1U, 2U));
  journal.reset();
  journal = open();
  EXPECT_EQ(journal->last_event_id().value(), 2U);
  EXPECT_THAT(journal->commit(batch_of(event("three"))).value(), ElementsAre(3U));
  EXPECT_THAT(messages(*journal), ElementsAre("one", "two", "three"));
}

TEST_F(JournalTest, is_new_until_something_was_told_in_it) {
  const auto is_new = [this] { return Journal::open(path_, kNow).value().is_new; };
  EXPECT_TRUE(is_new());
  EXPECT_TRUE(is_new()) << "whoever made it died at once";
  ASSERT_TRUE(open()->commit(batch_of(event("one"))));
  EXPECT_FALSE(is_new());
}

TEST_F(JournalTest, takes_ids_that_were_given_and_refuses_one_twice) {
  auto journal = open();
  Batch batch;
  batch.events = {event("seven"), event("next")};
  batch.events[0].id = 7;
  EXPECT_THAT(journal->commit(batch).value(), ElementsAre(7U, 8U));
  batch.events = {event("nine"), event("seven again")};
  batch.events[1].id = 7;
  EXPECT_EQ(journal->commit(batch).error().code, Errc::conflict);
  EXPECT_THAT(messages(*journal), ElementsAre("seven", "next")) << "all or nothing";
  batch.events = {event("too large")};
  batch.events[0].id = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(journal->commit(batch).error().code, Errc::conflict);
  EXPECT_EQ(journal->last_event_id().value(), 8U);
}

TEST_F(JournalTest, asks_for_events_by_id_time_and_check) {
  auto journal = open();
  Batch batch;
  for (int i = 0; i < 5; ++i)
    batch.events.push_back(event(std::to_string(i), kNow + hours{i}));
  batch.events[2].check = "host.clock";
  ASSERT_TRUE(journal->commit(batch));
  EventQuery query;
  query.after_id = 2;
  EXPECT_THAT(messages(*journal, query), ElementsAre("2", "3", "4"));
  query.since = kNow + hours{3};
  EXPECT_THAT(messages(*journal, query), ElementsAre("3", "4"));
  query = {};
  query.check = "host.clock";
  EXPECT_THAT(messages(*journal, query), ElementsAre("2"));
  query = {};
  query.limit = 2;
  EXPECT_THAT(messages(*journal, query), ElementsAre("0", "1"));
  query.after_id = std::numeric_limits<std::uint64_t>::max();
  EXPECT_THAT(messages(*journal, query), IsEmpty());
}

TEST_F(JournalTest, gives_back_what_an_event_was) {
  auto journal = open();
  Event written = event(std::string("torn \xff\xfe line\0with a zero", 24));
  written.subject = gpu();
  written.health = Health::failed;
  written.reason = "row_remap_failed";
  written.injected = written.simulated = true;
  written.details = {{"count", std::int64_t{-5}},
                     {"whole", 2.0},
                     {"share", 0.1},
                     {"flag", true},
                     {"word", std::string("w")},
                     {"endless", std::numeric_limits<double>::infinity()}};
  ASSERT_TRUE(journal->commit(batch_of(written)));
  const auto read = journal->events({}).value().at(0);
  EXPECT_EQ(read.message, written.message);
  EXPECT_EQ(read.time, written.time);
  EXPECT_EQ(read.boot_id, written.boot_id);
  EXPECT_EQ(read.kind, written.kind);
  EXPECT_EQ(read.subject, written.subject);
  EXPECT_EQ(read.subject.index, 3);
  EXPECT_EQ(read.subject.uuid, "GPU-1");
  EXPECT_EQ(read.subject.serial, "S1");
  EXPECT_EQ(read.health, Health::failed);
  EXPECT_EQ(read.reason, written.reason);
  EXPECT_EQ(read.details, written.details);
  EXPECT_TRUE(read.injected);
  EXPECT_TRUE(read.simulated);
}

TEST_F(JournalTest, keeps_one_row_per_incident_newest_first) {
  auto journal = open();
  Batch batch;
  for (int i = 1; i <= 3; ++i) {
    Incident incident;
    incident.id = "b-" + std::to_string(i);
    incident.opened = kNow + hours{i};
    incident.blamed = gpu();
    incident.confidence = 0.9;
    incident.action = Action::replace;
    incident.members.push_back({"gpu.row_remap", {}, true, std::nullopt});
    incident.members[0].finding.evidence = {{"rows", std::int64_t{8}}};
    batch.incidents.push_back(incident);
  }
  ASSERT_TRUE(journal->commit(batch));
  batch.incidents.erase(batch.incidents.begin() + 1, batch.incidents.end());
  batch.incidents[0].state = IncidentState::closed;
  batch.incidents[0].closed = kNow;
  batch.incidents[0].closed_by = "gpu_reset";
  ASSERT_TRUE(journal->commit(batch));

  const auto open = journal->incidents(false, 10).value();
  ASSERT_THAT(open, SizeIs(2));
  EXPECT_EQ(open[0].id, "b-3");
  EXPECT_EQ(open[1].id, "b-2");
  EXPECT_EQ(open[0].confidence, 0.9);
  EXPECT_EQ(open[0].members.at(0).finding.evidence, batch.incidents[0].members[0].finding.evidence);
  EXPECT_TRUE(open[0].members[0].sympathetic);
  const auto all = journal->incidents(true, 10).value();
  ASSERT_THAT(all, SizeIs(3));
  EXPECT_EQ(all[2].closed, kNow);
  EXPECT_EQ(all[2].closed_by, "gpu_reset");
  EXPECT_THAT(journal->incidents(true, 1).value(), SizeIs(1));
}

TEST_F(JournalTest, keeps_operations_and_the_newest_pass_record) {
  auto journal = open();
  Batch batch;
  Operation operation;
  operation.id = "op-1";
  operation.state = OperationState::succeeded;
  operation.reservation = {gpu()};
  operation.finished = kNow;
  operation.deadline = std::chrono::minutes{5};
  Observation observation;
  observation.name = "bandwidth";
  observation.value = 12.5;
  observation.sequence = std::numeric_limits<std::uint64_t>::max();
  operation.observations = {observation};
  batch.operations = {operation};
  batch.pass_records = {{"GPU-1", "self_test", kNow, "boot", "op-1"},
                        {"GPU-1", "self_test", kNow - hours{1}, "boot", "op-0"}};
  ASSERT_TRUE(journal->commit(batch));
  const auto read = journal->operations(10).value();
  ASSERT_THAT(read, SizeIs(1));
  EXPECT_EQ(read[0].state, OperationState::succeeded);
  EXPECT_EQ(read[0].reservation.at(0).uuid, "GPU-1");
  EXPECT_EQ(read[0].finished, kNow);
  EXPECT_EQ(read[0].started, std::nullopt);
  EXPECT_EQ(read[0].deadline, std::chrono::minutes{5});
  EXPECT_EQ(read[0].observations.at(0).value, Value{12.5});
  EXPECT_EQ(read[0].observations[0].sequence, observation.sequence);
  const auto passed = journal->pass_records().value();
  ASSERT_THAT(passed, SizeIs(1));
  EXPECT_EQ(passed[0].operation, "op-1");
}

TEST_F(JournalTest, a_proof_that_is_taken_away_does_not_come_back) {
  auto journal = open();
  Batch batch;
  batch.pass_records = {{"GPU-1", "gpu.sdc", kNow, "boot", "op-1"},
                        {"GPU-2", "gpu.sdc", kNow, "boot", "op-1"}};
  ASSERT_TRUE(journal->commit(batch));
  batch.pass_records = {{"GPU-1", "gpu.sdc", {}, "boot", "op-1"}};
  ASSERT_TRUE(journal->commit(batch));
  ASSERT_THAT(journal->pass_records().value(), SizeIs(1));
  EXPECT_EQ(journal->pass_records().value()[0].gpu_uuid, "GPU-2");
  batch.pass_records = {{"GPU-1", "gpu.sdc", kNow + hours{1}, "boot", "op-2"}};
  ASSERT_TRUE(journal->commit(batch));
  EXPECT_THAT(journal->pass_records().value(), SizeIs(2));
}

TEST_F(JournalTest, keeps_the_last_sample_of_each_counter_by_boot) {
  auto journal = open();
  Batch batch;
  Observation observation;
  observation.name = "ecc.corrected";
  observation.subject = gpu();
  observation.value = std::int64_t{5};
  observation.time = {kNow, MonoTime{std::chrono::seconds{12}}};
  observation.attributes = {{"bank", std::string("l2")}};
  batch.last_samples = {{"gpu.ecc", observation, "boot1"}};
  ASSERT_TRUE(journal->commit(batch));
  batch.last_samples[0].observation.value = std::int64_t{6};
  ASSERT_TRUE(journal->commit(batch));
  const auto samples = journal->last_samples("boot1").value();
  ASSERT_THAT(samples, SizeIs(1));
  EXPECT_EQ(samples[0].observation.value, Value{std::int64_t{6}});
  EXPECT_EQ(samples[0].observation.time.mono, observation.time.mono);
  EXPECT_EQ(samples[0].observation.attributes, observation.attributes);
  EXPECT_EQ(samples[0].boot_id, "boot1");
  EXPECT_THAT(journal->last_samples("boot2").value(), IsEmpty());
}

TEST_F(JournalTest, replaces_findings_as_a_whole_and_only_when_told) {
  auto journal = open();
  Batch batch;
  batch.findings.emplace();
  for (const auto* reason : {"z", "a"}) {
    StoredFinding stored{"gpu.ecc", {}, "boot", "m1 state"};
    stored.finding.subject = gpu();
    stored.finding.health = Health::failed;
    stored.finding.reason = reason;
    stored.finding.held = true;
    stored.finding.action = Action::reset_gpu;
    stored.finding.since = kNow;
    batch.findings->push_back(stored);
  }
  ASSERT_TRUE(journal->commit(batch));
  ASSERT_TRUE(journal->commit(batch_of(event("unrelated"))));
  const auto findings = journal->findings().value();
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_EQ(findings[0].finding.reason, "z");
  EXPECT_EQ(findings[0].state, "m1 state");
  EXPECT_EQ(findings[0].finding.action, Action::reset_gpu);
  EXPECT_TRUE(findings[0].finding.held);
  EXPECT_EQ(findings[0].finding.since, kNow);
  batch.findings->clear();
  ASSERT_TRUE(journal->commit(batch));
  EXPECT_THAT(journal->findings().value(), IsEmpty());
}

TEST_F(JournalTest, keeps_values_up_to_64_KiB_whole) {
  auto journal = open();
  Batch batch;
  batch.values = {{"longest", std::string(Journal::kMaxValueBytes, 'x')},
                  {"too long", std::string(Journal::kMaxValueBytes + 1, 'x')}};
  ASSERT_TRUE(journal->commit(batch));
  EXPECT_EQ(journal->value("longest").value()->size(), Journal::kMaxValueBytes);
  EXPECT_EQ(journal->value("too long").value()->size(), Journal::kMaxValueBytes);
}

TEST_F(JournalTest, keeps_small_facts) {
  auto journal = open();
  Batch batch;
  batch.values = {{"kernel_log.position", "12"}, {"kernel_log.position", "13"}, {"empty", ""}};
  ASSERT_TRUE(journal->commit(batch));
  EXPECT_EQ(journal->value("kernel_log.position").value(), "13");
  EXPECT_EQ(journal->value("empty").value(), "");
  EXPECT_EQ(journal->value("nothing").value(), std::nullopt);
}

TEST_F(JournalTest, cuts_what_is_too_long_and_says_so) {
  auto journal = open();
  auto large = event(std::string(1 << 20, 'x'));
  for (int i = 0; i < 1000; ++i)
    large.details.emplace_back("word", std::string(1 << 14, 'y'));
  ASSERT_TRUE(journal->commit(batch_of(large)));
  const auto read = journal->events({}).value().at(0);
  EXPECT_THAT(read.message, SizeIs(Journal::kMaxTextBytes));
  EXPECT_THAT(read.details, SizeIs(Journal::kMaxListItems));
  EXPECT_THAT(std::get<std::string>(read.details[0].second), SizeIs(Journal::kMaxTextBytes));
}

TEST_F(JournalTest, has_one_writer) {
  const auto journal = open();
  EXPECT_EQ(Journal::open(path_, kNow).error().code, Errc::conflict);
  ASSERT_TRUE(journal->commit(batch_of(event("still here"))));
}

TEST_F(JournalTest, can_be_read_while_another_writes) {
  EXPECT_EQ(Journal::open_read_only(path_).error().code, Errc::not_found);
  auto writer = open();
  ASSERT_TRUE(writer->commit(batch_of(event("one"))));
  const auto reader = Journal::open_read_only(path_);
  ASSERT_TRUE(reader) << reader.error().what;
  ASSERT_TRUE(writer->commit(batch_of(event("two"))));
  EXPECT_THAT(messages(**reader), ElementsAre("one", "two"));
  EXPECT_EQ((*reader)->commit(batch_of(event("no"))).error().code, Errc::denied);
  EXPECT_EQ((*reader)->retain({}, kNow).error().code, Errc::denied);
  writer.reset();
  const auto later = Journal::open_read_only(path_);
  ASSERT_TRUE(later) << later.error().what;
  EXPECT_THAT(messages(**later), ElementsAre("one", "two"));
}

TEST_F(JournalTest, forgets_by_age_but_nothing_that_is_open) {
  auto journal = open();
  Batch batch;
  for (int i = 0; i < 6000; ++i)
    batch.events.push_back(event("old", kNow - hours{2}));
  batch.events.push_back(event("new"));
  Incident incident;
  incident.id = "open";
  incident.opened = kNow - hours{2};
  batch.incidents.push_back(incident);
  incident.id = "closed";
  incident.state = IncidentState::closed;
  incident.closed = kNow - hours{2};
  batch.incidents.push_back(incident);
  Operation operation;
  operation.id = "running";
  operation.created = kNow - hours{2};
  batch.operations.push_back(operation);
  operation.id = "over";
  operation.state = OperationState::failed;
  batch.operations.push_back(operation);
  batch.pass_records = {{"GPU-1", "t", kNow - hours{2}, "boot", "over"}};
  batch.findings = {{StoredFinding{"c", {}, "boot", ""}}};
  ASSERT_TRUE(journal->commit(batch));
  Retention retention;
  retention.age = hours{1};
  ASSERT_TRUE(journal->retain(retention, kNow));
  EXPECT_THAT(messages(*journal), ElementsAre("new"));
  EXPECT_EQ(journal->incidents(true, 10).value().at(0).id, "open");
  EXPECT_THAT(journal->incidents(true, 10).value(), SizeIs(1));
  EXPECT_EQ(journal->operations(10).value().at(0).id, "running");
  EXPECT_THAT(journal->operations(10).value(), SizeIs(1));
  EXPECT_THAT(journal->pass_records().value(), IsEmpty());
  EXPECT_THAT(journal->findings().value(), SizeIs(1));
}

TEST_F(JournalTest, shrinks_to_its_size_and_never_gives_an_id_twice) {
  auto journal = open();
  for (int i = 0; i < 20; ++i) {
    Batch batch;
    for (int j = 0; j < 100; ++j)
      batch.events.push_back(event(std::string(1000, 'x'), kNow + hours{i}));
    ASSERT_TRUE(journal->commit(batch));
  }
  Retention retention;
  retention.bytes = 512 << 10;
  ASSERT_TRUE(journal->retain(retention, kNow));
  const auto size = std::filesystem::file_size(path_) + std::filesystem::file_size(path_ + "-wal");
  EXPECT_LE(size, retention.bytes);
  EXPECT_GT(size, retention.bytes / 4);
  const auto left = journal->events({}).value();
  EXPECT_EQ(left.back().id, 2000U) << "the oldest go first";
  retention.bytes = 0;
  ASSERT_TRUE(journal->retain(retention, kNow));
  EXPECT_THAT(journal->events({}).value(), IsEmpty());
  EXPECT_THAT(journal->commit(batch_of(event("next"))).value(), ElementsAre(2001U));
}

TEST_F(JournalTest, its_log_stays_small_while_nothing_is_forgotten) {
  auto journal = open();
  Batch batch;
  batch.values = {{"kernel_log.position", ""}, {"other", std::string(4000, 'y')}};
  for (int i = 0; i < 400; ++i) {
    batch.values.front().second = std::string(4000, 'x') + std::to_string(i);
    ASSERT_TRUE(journal->commit(batch));
  }
  EXPECT_LE(std::filesystem::file_size(path_ + "-wal"), std::uintmax_t{1200} << 10);
}

TEST_F(JournalTest, the_log_is_part_of_its_size) {
  auto journal = open();
  Batch batch;
  batch.events.assign(100, event(std::string(1000, 'x')));
  const Retention retention{.bytes = std::uint64_t{2} << 20};
  for (int i = 0; i < 40; ++i)
    ASSERT_TRUE(journal->commit(batch));
  ASSERT_TRUE(journal->retain(retention, kNow));
  EXPECT_LE(std::filesystem::file_size(path_), std::uintmax_t{1} << 20) << "the log takes the rest";
}

}  // namespace
}  // namespace autopilot::store
