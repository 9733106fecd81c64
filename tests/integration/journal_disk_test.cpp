// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>
#include <thread>

#include "store/journal_writer.hpp"
#include "tests/support/store/journal_fixture.hpp"
#include "tests/support/store/small_disk.hpp"

namespace autopilot::store {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::batch_of;
using testing::event;
using testing::fill;
using testing::kNow;
using testing::SmallDisk;

constexpr Duration kLong = seconds{30};

class RealClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override {
    return {std::chrono::system_clock::now(), std::chrono::steady_clock::now()};
  }
};

std::vector<std::string> messages(const Journal& journal) {
  std::vector<std::string> messages;
  const auto events = journal.events({}).value();
  for (const auto& event : events)
    messages.push_back(event.message);
  return messages;
}

class JournalDiskTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!disk_.reason().empty()) GTEST_SKIP() << disk_.reason();
  }
  SmallDisk disk_;
  RealClock clock_;
};

TEST_F(JournalDiskTest, a_full_disk_refuses_and_loses_nothing) {
  const std::string path = disk_ / "journal.db";
  auto journal = Journal::open(path, kNow).value().journal;
  ASSERT_TRUE(journal->commit(batch_of(event("before"))));
  fill(disk_ / "filler");
  // The log has some room of its own left.
  std::vector<std::string> durable{"before"};
  Result<std::vector<std::uint64_t>> result;
  for (int i = 0; i < 10'000; ++i) {
    const std::string message = std::to_string(i) + std::string(3000, '.');
    result = journal->commit(batch_of(event(message)));
    if (!result) break;
    durable.push_back(message);
  }
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::exhausted) << result.error().what;
  EXPECT_EQ(messages(*journal), durable);

  std::filesystem::remove(disk_ / "filler");
  ASSERT_TRUE(journal->commit(batch_of(event("after"))));
  durable.emplace_back("after");
  journal.reset();
  auto opened = Journal::open(path, kNow);
  ASSERT_TRUE(opened) << opened.error().what;
  EXPECT_EQ(opened->moved_aside, "");
  EXPECT_EQ(messages(*opened->journal), durable);
}

TEST_F(JournalDiskTest, what_was_acknowledged_survives_a_power_cut) {
  const std::string path = disk_ / "journal.db";
  auto journal = Journal::open(path, kNow).value().journal;
  std::vector<std::string> durable;
  for (int i = 0; i < 5; ++i) {
    durable.push_back(std::to_string(i));
    ASSERT_TRUE(journal->commit(batch_of(event(durable.back()))));
    const SmallDisk found(SmallDisk::AfterPowerCut{disk_});
    ASSERT_EQ(found.reason(), "");
    const auto opened = Journal::open(found / "journal.db", kNow);
    ASSERT_TRUE(opened) << opened.error().what;
    EXPECT_EQ(opened->moved_aside, "") << opened->reason;
    EXPECT_EQ(messages(*opened->journal), durable);
  }
}

TEST_F(JournalDiskTest, opening_on_a_full_disk_is_an_error_and_moves_nothing) {
  const std::string path = disk_ / "journal.db";
  ASSERT_TRUE(Journal::open(path, kNow).value().journal->commit(batch_of(event("kept"))));
  fill(disk_ / "filler");
  auto full = Journal::open(path, kNow);
  if (full) {
    EXPECT_EQ(full->moved_aside, "");
    full->journal.reset();
  } else {
    EXPECT_EQ(full.error().code, Errc::exhausted) << full.error().what;
  }
  auto fresh = Journal::open(disk_ / "other/journal.db", kNow);
  ASSERT_FALSE(fresh);
  EXPECT_EQ(fresh.error().code, Errc::exhausted) << fresh.error().what;
  std::filesystem::remove(disk_ / "filler");
  EXPECT_EQ(messages(*Journal::open(path, kNow).value().journal), std::vector<std::string>{"kept"});
}

TEST_F(JournalDiskTest, forgetting_makes_room_on_a_disk_with_almost_none) {
  const std::string path = disk_ / "journal.db";
  auto journal = Journal::open(path, kNow).value().journal;
  Batch large;
  large.events.assign(1000, event(std::string(4000, '.')));
  ASSERT_TRUE(journal->commit(large));
  ASSERT_TRUE(journal->retain({}, kNow));  // the log is copied back and cut
  const auto size = std::filesystem::file_size(path);
  ASSERT_GT(size, 4'000'000U);
  fill(disk_ / "filler");
  std::filesystem::resize_file(disk_ / "filler", std::filesystem::file_size(disk_ / "filler") - (512 << 10));

  const Retention retention{.age = std::chrono::hours{1}};
  const Status done = journal->retain(retention, kNow + std::chrono::hours{2});
  ASSERT_TRUE(done) << done.error().what;
  EXPECT_EQ(messages(*journal), std::vector<std::string>{});
  EXPECT_LT(std::filesystem::file_size(path), size / 4);
}

// Commits that need no more room in the file, only in its log.
void replace_again_and_again(Journal& journal, int times) {
  Batch batch;
  for (int i = 0; i < times; ++i) {
    batch.values = {{"position", std::string(4000, 'x') + std::to_string(i)}};
    const auto done = journal.commit(batch);
    ASSERT_TRUE(done) << i << ": " << done.error().what;
  }
}

void leave_free(const std::string& filler, std::uintmax_t bytes) {
  fill(filler);
  std::filesystem::resize_file(filler, std::filesystem::file_size(filler) - bytes);
}

TEST_F(JournalDiskTest, the_log_is_cut_where_two_megabytes_are_free) {
  const std::string path = disk_ / "journal.db";
  auto journal = Journal::open(path, kNow).value().journal;
  replace_again_and_again(*journal, 1);
  ASSERT_TRUE(journal->retain({}, kNow));
  leave_free(disk_ / "filler", std::uintmax_t{2} << 20);
  replace_again_and_again(*journal, 1000);
}

TEST_F(JournalDiskTest, the_log_is_cut_where_less_is_free_than_it_may_have) {
  const std::string path = disk_ / "journal.db";
  replace_again_and_again(*Journal::open(path, kNow).value().journal, 10);
  auto journal = Journal::open(path, kNow).value().journal;  // with a new log, and pages to spare in the file
  leave_free(disk_ / "filler", 256 << 10);
  replace_again_and_again(*journal, 600);
}

TEST_F(JournalDiskTest, the_writer_waits_for_room_and_goes_on) {
  const std::string path = disk_ / "journal.db";
  WriterLimits limits;
  limits.retry = milliseconds{5};
  limits.rows = 1'000'000;
  auto opened = Journal::open(path, kNow);
  ASSERT_TRUE(opened) << opened.error().what;
  JournalWriter writer(make_journal_sink(std::move(opened->journal)), clock_, {}, limits);
  fill(disk_ / "filler");
  std::atomic<int> durable = 0;
  Batch large;
  large.events.assign(500, event(std::string(4000, '.')));
  for (int i = 0; i < 3; ++i)
    writer.submit(large, [&durable](const auto& ids) { durable += ids ? 1 : 0; });
  EXPECT_EQ(writer.flush(milliseconds{200}).error().code, Errc::timed_out);
  EXPECT_NE(writer.status().problem, "");
  EXPECT_GT(writer.status().lag, Duration{0});
  EXPECT_LT(durable, 3);
  std::filesystem::remove(disk_ / "filler");
  ASSERT_TRUE(writer.flush(kLong));
  EXPECT_EQ(durable, 3);
  // Forgetting may have met the full disk as well; it is tried again when `retry` is over.
  const auto end = std::chrono::steady_clock::now() + kLong;
  while (!writer.status().problem.empty() && std::chrono::steady_clock::now() < end)
    std::this_thread::yield();
  EXPECT_EQ(writer.status().problem, "");
  EXPECT_EQ(writer.status().dropped, 0U);
  ASSERT_TRUE(writer.stop(kLong));
  const auto kept = Journal::open_read_only(path);
  ASSERT_TRUE(kept) << kept.error().what;
  const auto last = (*kept)->last_event_id();
  ASSERT_TRUE(last) << last.error().what;
  EXPECT_EQ(*last, 1500U);
}

TEST_F(JournalDiskTest, a_frozen_disk_stops_neither_the_callers_nor_the_end) {
  const std::string path = disk_ / "journal.db";
  JournalWriter writer(make_journal_sink(Journal::open(path, kNow).value().journal), clock_, {});
  writer.submit(batch_of(event("durable", clock_.now().wall)));
  ASSERT_TRUE(writer.flush(kLong));
  if (!disk_.freeze())
    GTEST_SKIP() << "freezing a file system is not possible here: " << std::strerror(errno);

  std::atomic<int> given_up = 0;
  for (int i = 0; i < 3; ++i)
    writer.submit(batch_of(event("in the ice")), [&given_up](const auto& ids) { given_up += ids ? 0 : 1; });
  EXPECT_EQ(writer.flush(milliseconds{100}).error().code, Errc::timed_out);
  EXPECT_EQ(writer.status().waiting, 3U);
  EXPECT_GE(writer.status().lag, milliseconds{100});
  EXPECT_EQ(writer.stop(milliseconds{100}).error().code, Errc::timed_out);
  EXPECT_EQ(given_up, 3);
  disk_.thaw();

  // The abandoned thread still holds the journal until the kernel lets it go.
  const auto deadline = std::chrono::steady_clock::now() + kLong;
  auto opened = Journal::open(path, kNow);
  while (!opened && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(milliseconds{10});
    opened = Journal::open(path, kNow);
  }
  ASSERT_TRUE(opened) << opened.error().what;
  EXPECT_EQ(opened->moved_aside, "");
  const auto kept = messages(*opened->journal);
  ASSERT_FALSE(kept.empty());
  EXPECT_EQ(kept[0], "durable");
}

}  // namespace
}  // namespace autopilot::store
