// SPDX-License-Identifier: Apache-2.0
#include "store/journal_writer.hpp"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mutex>
#include <thread>

#include "tests/support/host/test_folder.hpp"
#include "tests/support/store/journal_fixture.hpp"

namespace autopilot::store {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::batch_of;
using ::testing::ElementsAre;
using testing::event;
using testing::kNow;

constexpr Duration kLong = seconds{20};

class ManualClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override {
    return {kNow + Duration{elapsed_.load()}, MonoTime{Duration{elapsed_.load()}}};
  }
  void advance(Duration by) { elapsed_ += by.count(); }

 private:
  std::atomic<std::int64_t> elapsed_{0};
};

// A disk that does as told. Shared with the test, because an abandoned writer keeps its sink.
struct Disk {
  std::mutex mutex;
  std::condition_variable changed;
  bool hangs = false;
  int inside = 0;           // calls of commit that have not returned
  std::deque<Error> fails;  // the next commits
  std::string poison;       // a batch with such an event is a conflict
  std::vector<std::vector<std::string>> commits;
  int retained = 0;
  std::deque<Error> retain_fails;  // the next retentions
  int begun_anew = 0;
  int set_behind = 0;
  bool gone = false;  // the sink was destroyed

  void hang(bool hang_now) {
    const std::lock_guard lock(mutex);
    hangs = hang_now;
    changed.notify_all();
  }
  void wait_until_inside() {
    std::unique_lock lock(mutex);
    ASSERT_TRUE(changed.wait_for(lock, kLong, [this] { return inside > 0; }));
  }
  void wait_until_gone() {
    std::unique_lock lock(mutex);
    ASSERT_TRUE(changed.wait_for(lock, kLong, [this] { return gone; }));
  }
  void wait_until_retained(int times) {
    std::unique_lock lock(mutex);
    ASSERT_TRUE(changed.wait_for(lock, kLong, [&] { return retained >= times; }));
  }
  [[nodiscard]] std::vector<std::vector<std::string>> committed() {
    const std::lock_guard lock(mutex);
    return commits;
  }
};

class DiskSink final : public BatchSink {
 public:
  explicit DiskSink(std::shared_ptr<Disk> disk) : disk_(std::move(disk)) {}
  DiskSink(const DiskSink&) = delete;
  DiskSink& operator=(const DiskSink&) = delete;
  ~DiskSink() override {
    const std::lock_guard lock(disk_->mutex);
    disk_->gone = true;
    disk_->changed.notify_all();
  }

  Result<std::vector<std::uint64_t>> commit(const Batch& batch) override {
    std::unique_lock lock(disk_->mutex);
    ++disk_->inside;
    disk_->changed.notify_all();
    disk_->changed.wait(lock, [this] { return !disk_->hangs; });
    --disk_->inside;
    if (!disk_->fails.empty()) {
      auto error = disk_->fails.front();
      disk_->fails.pop_front();
      return fail(std::move(error));
    }
    std::vector<std::string> messages;
    std::vector<std::uint64_t> ids;
    for (const auto& event : batch.events) {
      if (event.message == disk_->poison) return fail(Errc::conflict, "poison");
      messages.push_back(event.message);
      ids.push_back(++last_id_);
    }
    disk_->commits.push_back(std::move(messages));
    return ids;
  }
  void set_behind() override {
    const std::lock_guard lock(disk_->mutex);
    ++disk_->set_behind;
  }
  Status retain(const Retention&, WallTime) override {
    const std::lock_guard lock(disk_->mutex);
    ++disk_->retained;
    disk_->changed.notify_all();
    if (disk_->retain_fails.empty()) return {};
    auto error = disk_->retain_fails.front();
    disk_->retain_fails.pop_front();
    return fail(std::move(error));
  }
  Result<std::string> begin_anew(WallTime) override {
    const std::lock_guard lock(disk_->mutex);
    ++disk_->begun_anew;
    return "old.unusable";
  }

 private:
  std::shared_ptr<Disk> disk_;
  std::uint64_t last_id_ = 0;
};

class JournalWriterTest : public ::testing::Test {
 protected:
  void TearDown() override { disk_->hang(false); }

  void start(WriterLimits limits = {}) {
    limits.retry = milliseconds{1};
    writer_.emplace(std::make_unique<DiskSink>(disk_), clock_, Retention{}, limits);
  }
  // Submits one event; its outcome is told in outcomes_: "name:id" or "name:code".
  void submit(const std::string& name) {
    writer_->submit(batch_of(event(name)), [this, name](Result<std::vector<std::uint64_t>> result) {
      const std::lock_guard lock(mutex_);
      outcomes_.push_back(
          name + ':' +
          (result ? std::to_string(result->at(0)) : std::string(to_string(result.error().code))));
    });
  }
  [[nodiscard]] std::vector<std::string> outcomes() {
    const std::lock_guard lock(mutex_);
    return outcomes_;
  }
  // False when status().problem has not become this within kLong.
  [[nodiscard]] bool wait_for_problem(std::string_view problem) {
    const auto end = std::chrono::steady_clock::now() + kLong;
    while (writer_->status().problem != problem) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::yield();
    }
    return true;
  }

  std::mutex mutex_;
  std::vector<std::string> outcomes_;
  std::shared_ptr<Disk> disk_ = std::make_shared<Disk>();
  ManualClock clock_;
  std::optional<JournalWriter> writer_;
};

TEST_F(JournalWriterTest, tells_each_caller_its_ids) {
  start();
  submit("a");
  submit("b");
  ASSERT_TRUE(writer_->flush(kLong));
  EXPECT_THAT(outcomes(), ElementsAre("a:1", "b:2"));
  EXPECT_EQ(writer_->status().commits, 2U);
  EXPECT_EQ(writer_->status().waiting, 0U);
  EXPECT_EQ(writer_->status().lag, Duration{0});
  EXPECT_TRUE(writer_->stop(kLong));
}

TEST_F(JournalWriterTest, commits_together_what_has_waited) {
  start();
  disk_->hang(true);
  submit("first");
  disk_->wait_until_inside();
  for (const auto* name : {"a", "b", "c"})
    submit(name);
  disk_->hang(false);
  ASSERT_TRUE(writer_->flush(kLong));
  EXPECT_THAT(disk_->committed(), ElementsAre(ElementsAre("first"), ElementsAre("a", "b", "c")));
  EXPECT_THAT(outcomes(), ElementsAre("first:1", "a:2", "b:3", "c:4"));
}

TEST_F(JournalWriterTest, one_bad_batch_spoils_no_other) {
  start();
  disk_->poison = "bad";
  disk_->hang(true);
  submit("first");
  disk_->wait_until_inside();
  for (const auto* name : {"a", "bad", "c"})
    submit(name);
  disk_->hang(false);
  ASSERT_TRUE(writer_->flush(kLong));
  ASSERT_EQ(outcomes().size(), 4U);
  EXPECT_EQ(outcomes()[1].substr(0, 2), "a:");
  EXPECT_EQ(outcomes()[2], "bad:conflict");
  EXPECT_EQ(outcomes()[3].substr(0, 2), "c:");
  EXPECT_EQ(writer_->status().dropped, 1U);
}

TEST_F(JournalWriterTest, a_full_disk_loses_nothing) {
  disk_->fails.assign(5, Error{Errc::exhausted, "disk full"});
  start();
  submit("a");
  submit("b");
  ASSERT_TRUE(writer_->flush(kLong));
  EXPECT_THAT(outcomes(), ElementsAre("a:1", "b:2"));
  EXPECT_EQ(writer_->status().problem, "") << "it is over";
  EXPECT_EQ(writer_->status().dropped, 0U);
}

TEST_F(JournalWriterTest, says_what_is_wrong_while_it_lasts) {
  disk_->fails.assign(1'000'000, Error{Errc::exhausted, "disk full"});
  start();
  submit("a");
  EXPECT_EQ(writer_->flush(milliseconds{30}).error().code, Errc::timed_out);
  EXPECT_EQ(writer_->status().problem, "disk full");
  EXPECT_EQ(writer_->status().waiting, 1U);
  EXPECT_EQ(writer_->stop(milliseconds{1}).error().code, Errc::timed_out);
  EXPECT_THAT(outcomes(), ElementsAre("a:timed_out"));
}

TEST_F(JournalWriterTest, a_hung_disk_never_blocks_and_its_lag_is_told) {
  WriterLimits limits;
  limits.submissions = 3;
  start(limits);
  disk_->hang(true);
  submit("a");
  disk_->wait_until_inside();
  clock_.advance(seconds{7});
  for (const auto* name : {"b", "c", "refused", "refused too"})
    submit(name);
  EXPECT_EQ(writer_->status().lag, seconds{7});
  EXPECT_EQ(writer_->status().waiting, 3U);
  EXPECT_EQ(writer_->status().dropped, 2U);
  EXPECT_THAT(outcomes(), ElementsAre("refused:exhausted", "refused too:exhausted"));
  disk_->hang(false);
  ASSERT_TRUE(writer_->flush(kLong));
  EXPECT_EQ(outcomes().back(), "c:3");
  const std::lock_guard lock(disk_->mutex);
  EXPECT_GE(disk_->set_behind, 1) << "the journal does not know that it lacks something";
}

TEST_F(JournalWriterTest, limits_rows_but_takes_a_large_batch_alone) {
  WriterLimits limits;
  limits.rows = 10;
  start(limits);
  disk_->hang(true);
  Batch large;
  large.events.assign(50, event("x"));
  writer_->submit(large);
  EXPECT_EQ(writer_->status().dropped, 0U);
  submit("refused");
  EXPECT_EQ(writer_->status().dropped, 1U);
  disk_->hang(false);
  ASSERT_TRUE(writer_->flush(kLong));
  submit("taken");
  ASSERT_TRUE(writer_->flush(kLong));
  EXPECT_EQ(outcomes().back(), "taken:51");
}

TEST_F(JournalWriterTest, stops_in_time_although_the_disk_hangs) {
  start();
  disk_->hang(true);
  submit("in flight");
  disk_->wait_until_inside();
  submit("queued");
  EXPECT_EQ(writer_->stop(milliseconds{20}).error().code, Errc::timed_out);
  EXPECT_THAT(outcomes(), ElementsAre("in flight:timed_out", "queued:timed_out"));
  EXPECT_EQ(writer_->status().dropped, 2U);
  submit("late");
  EXPECT_EQ(outcomes().back(), "late:unavailable");
  writer_.reset();
  disk_->hang(false);
  disk_->wait_until_gone();
  EXPECT_EQ(outcomes().size(), 3U) << "a thread that was left alone calls nobody";
}

TEST_F(JournalWriterTest, stopping_makes_durable_what_waits) {
  start();
  for (int i = 0; i < 100; ++i)
    submit("x");
  EXPECT_TRUE(writer_->stop(kLong));
  EXPECT_EQ(outcomes().size(), 100U);
  EXPECT_EQ(outcomes().back(), "x:100");
  EXPECT_TRUE(disk_->gone);
  EXPECT_TRUE(writer_->stop(kLong)) << "twice is harmless";
}

TEST_F(JournalWriterTest, a_broken_journal_is_replaced_and_the_batch_goes_into_the_new_one) {
  disk_->fails.push_back({Errc::malformed, "corrupt"});
  start();
  submit("a");
  ASSERT_TRUE(writer_->flush(kLong));
  EXPECT_THAT(outcomes(), ElementsAre("a:1"));
  EXPECT_EQ(disk_->begun_anew, 1);
  EXPECT_EQ(writer_->status().moved_aside, 1U);
  EXPECT_EQ(writer_->status().last_moved_aside, "old.unusable");
}

TEST_F(JournalWriterTest, forgets_what_is_old_once_per_period) {
  start();
  for (int i = 0; i < 3; ++i) {
    submit("x");
    ASSERT_TRUE(writer_->flush(kLong));
  }
  clock_.advance(std::chrono::hours{1});
  submit("x");
  ASSERT_TRUE(writer_->stop(kLong));
  EXPECT_EQ(disk_->retained, 2);
}

TEST_F(JournalWriterTest, forgetting_that_failed_is_tried_again_without_a_new_batch) {
  disk_->retain_fails = {{Errc::exhausted, "DELETE FROM events: disk is full"}};
  start();
  submit("a");
  disk_->wait_until_retained(1);
  EXPECT_TRUE(writer_->flush(kLong));
  ASSERT_TRUE(wait_for_problem("DELETE FROM events: disk is full"));
  EXPECT_THAT(outcomes(), ElementsAre("a:1"));
  clock_.advance(milliseconds{1});
  disk_->wait_until_retained(2);
  EXPECT_TRUE(wait_for_problem(""));
}

TEST_F(JournalWriterTest, takes_batches_from_many_threads) {
  WriterLimits limits;
  limits.submissions = 100'000;
  limits.rows = 100'000;
  start(limits);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([this] {
      for (int j = 0; j < 200; ++j) {
        submit("x");
        static_cast<void>(writer_->status());
      }
    });
  for (auto& thread : threads)
    thread.join();
  ASSERT_TRUE(writer_->flush(kLong));
  EXPECT_EQ(outcomes().size(), 800U);
  EXPECT_EQ(writer_->status().commits, 800U);
}

TEST(JournalSink, goes_on_in_a_new_journal_when_the_file_is_taken_away) {
  const host::TestFolder folder;
  const std::string path = folder / "journal.db";
  ManualClock clock;
  JournalWriter writer(make_journal_sink(Journal::open(path, kNow).value().journal), clock, {});
  writer.submit(batch_of(event("before")));
  ASSERT_TRUE(writer.flush(kLong));
  std::filesystem::remove(path);
  writer.submit(batch_of(event("after")));
  ASSERT_TRUE(writer.flush(kLong));
  EXPECT_EQ(writer.status().moved_aside, 1U);
  ASSERT_TRUE(writer.stop(kLong));
  const auto events = Journal::open_read_only(path).value()->events({}).value();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].message, "after");
}

TEST(JournalSink, goes_on_in_a_new_journal_when_the_file_is_replaced) {
  const host::TestFolder folder;
  const std::string path = folder / "journal.db";
  ManualClock clock;
  JournalWriter writer(make_journal_sink(Journal::open(path, kNow).value().journal), clock, {});
  testing::write_file(folder / "garbage", std::string(10'000, 'x'));
  std::filesystem::rename(folder / "garbage", path);
  writer.submit(batch_of(event("after")));
  ASSERT_TRUE(writer.stop(kLong));
  EXPECT_EQ(testing::read_file(writer.status().last_moved_aside), std::string(10'000, 'x'));
  EXPECT_EQ(Journal::open_read_only(path).value()->last_event_id().value(), 1U);
}

}  // namespace
}  // namespace autopilot::store
