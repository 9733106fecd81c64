// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>
#include <sqlite3.h>
#include <sys/stat.h>

#include "tests/support/host/test_folder.hpp"
#include "tests/support/store/journal_fixture.hpp"

namespace autopilot::store {
namespace {

using testing::batch_of;
using testing::event;
using testing::kNow;
using testing::read_file;
using ::testing::SizeIs;
using testing::write_file;

class DamagedJournal : public ::testing::Test {
 protected:
  // A journal of some pages, closed.
  void make() {
    auto journal = Journal::open(path_, kNow).value().journal;
    Batch batch;
    batch.events.assign(200, event(std::string(500, 'x')));
    ASSERT_TRUE(journal->commit(batch));
  }
  void run_sql(const std::string& sql) const {
    sqlite3* connection = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &connection), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(connection, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(connection);
  }
  // Opens; a new journal must have begun and the old file must be kept whole.
  void expect_moved_aside() const {
    const bool was_file = std::filesystem::is_regular_file(path_);
    const std::string before = was_file ? read_file(path_) : "";
    auto opened = Journal::open(path_, kNow);
    ASSERT_TRUE(opened) << opened.error().what;
    EXPECT_EQ(opened->moved_aside.find(path_ + ".unusable-20"), 0U) << opened->moved_aside;
    EXPECT_TRUE(opened->is_new);
    EXPECT_NE(opened->reason, "");
    EXPECT_TRUE(std::filesystem::exists(opened->moved_aside));
    if (was_file) {
      EXPECT_EQ(read_file(opened->moved_aside), before);
    }
    EXPECT_EQ(opened->journal->commit(batch_of(event("new"))).value().at(0), 1U);
  }

  host::TestFolder folder_;
  std::string path_ = folder_ / "journal.db";
};

TEST_F(DamagedJournal, garbage) {
  write_file(path_, "this is a text file that somebody put here\n" + std::string(5000, 'z'));
  expect_moved_aside();
}

TEST_F(DamagedJournal, short_garbage) {
  write_file(path_, "x");
  expect_moved_aside();
}

TEST_F(DamagedJournal, truncated) {
  make();
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) / 2);
  expect_moved_aside();
}

TEST_F(DamagedJournal, a_header_overwritten_with_zeros) {
  make();
  std::string text = read_file(path_);
  std::fill_n(text.begin(), 4096, '\0');
  write_file(path_, text);
  expect_moved_aside();
}

TEST_F(DamagedJournal, a_newer_version) {
  make();
  run_sql("PRAGMA user_version=99");
  expect_moved_aside();
}

TEST_F(DamagedJournal, another_programs_database) {
  run_sql("CREATE TABLE songs(name TEXT)");
  expect_moved_aside();
}

TEST_F(DamagedJournal, a_table_whose_column_has_another_name) {
  make();
  run_sql("ALTER TABLE events RENAME COLUMN check_id TO cheek_id");
  expect_moved_aside();
}

TEST_F(DamagedJournal, a_header_that_forbids_to_write) {
  make();
  std::string text = read_file(path_);
  constexpr std::size_t kWriteVersion = 18;  // of SQLite's file format; 2 is a write-ahead log
  text.at(kWriteVersion) = 18;
  write_file(path_, text);
  expect_moved_aside();
}

TEST_F(DamagedJournal, an_index_that_somebody_added_does_no_harm) {
  make();
  run_sql("CREATE INDEX events_of_somebody ON events(check_id)");
  const auto opened = Journal::open(path_, kNow);
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->moved_aside, "");
  EXPECT_EQ(opened->journal->commit(batch_of(event("goes on"))).value().at(0), 201U);
}

TEST_F(DamagedJournal, a_number_after_which_no_event_could_follow) {
  make();
  run_sql("UPDATE sqlite_sequence SET seq = 9223372036854775807 WHERE name = 'events'");
  expect_moved_aside();
}

TEST_F(DamagedJournal, a_number_that_was_given_before) {
  make();
  run_sql("UPDATE sqlite_sequence SET seq = 3 WHERE name = 'events'");
  expect_moved_aside();
}

TEST_F(DamagedJournal, a_folder_in_its_place) {
  std::filesystem::create_directories(path_ + "/inner");
  expect_moved_aside();
}

TEST_F(DamagedJournal, a_pipe_in_its_place) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  expect_moved_aside();
}

TEST_F(DamagedJournal, an_empty_file_is_a_new_journal) {
  write_file(path_, "");
  const auto opened = Journal::open(path_, kNow);
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->moved_aside, "");
}

TEST_F(DamagedJournal, the_log_of_a_lost_journal_is_not_replayed_into_the_new_one) {
  std::string log;
  {
    auto journal = Journal::open(path_, kNow).value().journal;
    ASSERT_TRUE(journal->commit(batch_of(event("old"))));
    log = read_file(path_ + "-wal");
  }
  std::filesystem::remove(path_);
  write_file(path_ + "-wal", log);
  const auto opened = Journal::open(path_, kNow);
  ASSERT_TRUE(opened) << opened.error().what;
  EXPECT_TRUE(opened->journal->events({}).value().empty());
  EXPECT_EQ(opened->journal->last_event_id().value(), 0U);
}

TEST_F(DamagedJournal, flipped_bits_never_crash_and_never_stop_the_node) {
  make();
  const std::string whole = read_file(path_);
  std::mt19937 random = testing::random_numbers(7);
  int moved = 0;
  constexpr int kRounds = 80;
  for (int round = 0; round < kRounds; ++round) {
    std::string text = whole;
    for (int flips = 0; flips < 8; ++flips) {
      const auto at = std::uniform_int_distribution<std::size_t>(0, text.size() - 1)(random);
      text[at] = static_cast<char>(text[at] ^ (1 << std::uniform_int_distribution(0, 7)(random)));
    }
    write_file(path_, text);
    auto opened = Journal::open(path_, kNow);
    ASSERT_TRUE(opened) << opened.error().what;
    if (!opened->moved_aside.empty()) ++moved;
    // A flip inside a text is not the database's to see; then that row is left out or reads differently.
    const auto events = opened->journal->events({});
    if (events) {
      EXPECT_LE(events->size() + opened->journal->unreadable_rows(), 200U);
    }
    // Damage that only a write meets is told as such: the writer then moves the file aside.
    const auto committed = opened->journal->commit(batch_of(event("goes on")));
    if (!committed) {
      EXPECT_EQ(committed.error().code, Errc::malformed) << committed.error().what;
    }
    opened->journal.reset();
  }
  EXPECT_GT(moved, 0);
}

// What a verdict depends on: a held finding with its incident, and enough events around it.
Batch with_a_finding() {
  Batch batch;
  batch.events.assign(200, event(std::string(500, 'x')));
  Incident incident;
  incident.id = "boot-1";
  incident.state = IncidentState::open;
  batch.incidents = {incident};
  StoredFinding finding{"gpu.xid", {}, "boot", "state"};
  finding.finding.reason = "gpu_lost";
  finding.finding.health = Health::failed;
  batch.findings = {finding};
  batch.values = {{"written_verdict", "EVICT"}};
  return batch;
}

class SalvagedJournal : public DamagedJournal {
 protected:
  void make() { ASSERT_TRUE(Journal::open(path_, kNow).value().journal->commit(with_a_finding())); }
  void expect_the_finding_in(const Journal& journal) const {
    const auto findings = journal.findings().value();
    ASSERT_THAT(findings, SizeIs(1));
    EXPECT_EQ(findings[0].finding.reason, "gpu_lost");
    EXPECT_THAT(journal.incidents(false, 10).value(), SizeIs(1));
    EXPECT_EQ(journal.value("written_verdict").value(), "EVICT");
  }
  // Of what `open` moves aside.
  void expect_salvaged() const {
    const auto opened = Journal::open(path_, kNow);
    ASSERT_TRUE(opened) << opened.error().what;
    EXPECT_NE(opened->moved_aside, "");
    EXPECT_NE(opened->lost, "");
    ASSERT_TRUE(opened->salvaged);
    expect_the_finding_in(*opened->salvaged);
  }
};

TEST_F(SalvagedJournal, of_a_newer_version) {
  make();
  run_sql("ALTER TABLE findings ADD COLUMN colour TEXT; PRAGMA user_version=99");
  expect_salvaged();
}

TEST_F(SalvagedJournal, cut_in_half) {
  make();
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) / 2);
  expect_salvaged();
}

TEST_F(SalvagedJournal, without_its_header) {
  make();
  std::string text = read_file(path_);
  std::fill_n(text.begin(), 100, '\0');
  write_file(path_, text);
  expect_salvaged();
}

TEST_F(SalvagedJournal, without_its_first_page) {
  make();
  std::string text = read_file(path_);
  std::fill_n(text.begin(), 4096, '\0');
  write_file(path_, text);
  expect_salvaged();
}

TEST_F(SalvagedJournal, whose_schema_is_changed) {
  make();
  run_sql("ALTER TABLE events RENAME COLUMN check_id TO cheek_id");
  expect_salvaged();
}

TEST_F(SalvagedJournal, that_cannot_be_opened_is_read_where_it_is) {
  make();
  std::filesystem::remove(path_ + ".lock");
  std::filesystem::create_directory(path_ + ".lock");  // no lock can be made
  ASSERT_FALSE(Journal::open(path_, kNow));
  const auto salvaged = Journal::salvage(path_);
  ASSERT_TRUE(salvaged) << salvaged.error().what;
  expect_the_finding_in(**salvaged);
  EXPECT_EQ((*salvaged)->commit(batch_of(event("x"))).error().code, Errc::denied);
}

TEST_F(SalvagedJournal, is_not_found_only_where_there_never_was_one) {
  EXPECT_EQ(Journal::salvage(path_).error().code, Errc::not_found);
  make();
  std::filesystem::remove(path_);
  EXPECT_EQ(Journal::salvage(path_).error().code, Errc::malformed);
}

class IncompleteJournal : public SalvagedJournal {
 protected:
  [[nodiscard]] std::string lost() const { return Journal::open(path_, kNow).value().lost; }
  void write_whole() const {
    Batch whole = with_a_finding();
    whole.is_whole = true;
    ASSERT_TRUE(Journal::open(path_, kNow).value().journal->commit(whole));
  }
};

TEST_F(IncompleteJournal, is_none_that_is_new_or_sound) {
  EXPECT_EQ(lost(), "");
  make();
  EXPECT_EQ(lost(), "");
}

TEST_F(IncompleteJournal, is_one_that_was_removed_until_all_of_it_is_written_again) {
  make();
  std::filesystem::remove(path_);
  EXPECT_NE(lost(), "");
  EXPECT_NE(lost(), "");
  write_whole();
  EXPECT_EQ(lost(), "");
}

TEST_F(IncompleteJournal, is_one_whose_log_is_lost) {
  make();
  const std::string before = read_file(path_);
  {
    auto journal = Journal::open(path_, kNow).value().journal;
    ASSERT_TRUE(journal->commit(with_a_finding()));
  }
  write_file(path_, before);
  EXPECT_NE(lost().find("1 commits are missing"), std::string::npos) << lost();
}

TEST_F(IncompleteJournal, is_one_that_its_writer_could_not_write_to) {
  {
    auto journal = Journal::open(path_, kNow).value().journal;
    ASSERT_TRUE(journal->commit(batch_of(event("before"))));
    Batch conflict = batch_of(event("the same id"));
    conflict.events[0].id = 1;
    ASSERT_FALSE(journal->commit(conflict));
    ASSERT_TRUE(journal->commit(batch_of(event("after"))));
  }
  EXPECT_NE(lost(), "");
  write_whole();
  EXPECT_EQ(lost(), "");
}

TEST_F(IncompleteJournal, is_one_with_a_row_that_somebody_changed) {
  make();
  run_sql("UPDATE findings SET boot_id = 'boat'");
  EXPECT_NE(lost(), "");
}

TEST_F(IncompleteJournal, is_one_whose_mark_is_damaged) {
  make();
  for (const char* text : {"x", "00000000000000000001 current", "0000000000000000000x current\n"}) {
    write_file(path_ + ".lock", text);
    EXPECT_NE(lost(), "") << text;
    write_whole();
    EXPECT_EQ(lost(), "") << text;
  }
  std::filesystem::resize_file(path_ + ".lock", 0);
  EXPECT_NE(lost(), "");
}

TEST_F(DamagedJournal, only_the_newest_are_kept_aside) {
  for (int i = 0; i < 10; ++i) {
    write_file(path_, "garbage " + std::to_string(i));
    ASSERT_TRUE(Journal::open(path_, kNow + std::chrono::minutes{i}));
  }
  std::vector<std::string> aside;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
    if (entry.path().string().find(".unusable-") != std::string::npos)
      aside.push_back(read_file(entry.path().string()));
  ASSERT_THAT(aside, SizeIs(Journal::kMaxAside));
  std::ranges::sort(aside);
  EXPECT_EQ(aside.front(), "garbage 6");
  EXPECT_EQ(aside.back(), "garbage 9");
}

TEST_F(DamagedJournal, a_folder_that_cannot_be_used_is_an_error) {
  write_file(folder_ / "file", "");
  const auto opened = Journal::open(folder_ / "file/journal.db", kNow);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().what.find(folder_ / "file"), std::string::npos);
}

TEST_F(DamagedJournal, reading_refuses_what_is_no_journal) {
  write_file(path_, "garbage garbage garbage");
  EXPECT_EQ(Journal::open_read_only(path_).error().code, Errc::malformed);
  EXPECT_EQ(read_file(path_), "garbage garbage garbage") << "a reader moves nothing";
  std::filesystem::remove(path_);
  make();
  run_sql("PRAGMA user_version=99");
  EXPECT_EQ(Journal::open_read_only(path_).error().code, Errc::unsupported);
}

}  // namespace
}  // namespace autopilot::store
