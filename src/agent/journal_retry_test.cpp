// SPDX-License-Identifier: Apache-2.0
#include "agent/journal_retry.hpp"

#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <optional>

#include "tests/fakes/fake_host.hpp"
#include "tests/support/host/test_folder.hpp"
#include "tests/support/store/journal_fixture.hpp"

namespace autopilot::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class JournalRetryTest : public ::testing::Test {
 protected:
  JournalRetryTest() {
    config_.state_dir = folder_.path();
    machine_.host = fakes::EmptyHost::share(empty_);
    machine_.node = "node-1";
    machine_.boot_id = "boot";
  }
  [[nodiscard]] std::string path() const { return config_.journal_path(); }
  void forbid() const { std::filesystem::create_directory(path() + ".lock"); }
  void allow() const { std::filesystem::remove(path() + ".lock"); }

  host::TestFolder folder_;
  std::shared_ptr<fakes::EmptyHost> empty_ = std::make_shared<fakes::EmptyHost>();
  config::Config config_;
  Machine machine_;
  net::EventLoop loop_;
};

TEST_F(JournalRetryTest, opens_the_journal_once_that_is_possible_and_reads_what_it_held) {
  {
    store::Batch batch;
    batch.values = {{std::string(report::kWrittenVerdict), "EVICT"}};
    batch.events = {store::testing::event("before")};
    ASSERT_TRUE(store::Journal::open(path(), store::testing::kNow).value().journal->commit(batch));
  }
  std::filesystem::remove(path() + ".lock");
  forbid();
  int attempts = 0;
  std::optional<OpenedJournal> opened;
  JournalRetry retry(
      loop_,
      [&] {
        if (++attempts == 3) allow();
        return JournalOpening(config_, machine_, std::nullopt);
      },
      [&](OpenedJournal journal) {
        opened = std::move(journal);
        loop_.stop();
      },
      {.first = milliseconds{1}, .longest = milliseconds{4}, .look = milliseconds{1}});
  retry.start();
  const auto patience = loop_.after(seconds{30}, [this] { loop_.stop(); });
  loop_.run();
  ASSERT_TRUE(opened);
  EXPECT_EQ(attempts, 3);
  EXPECT_NE(opened->writer, nullptr);
  EXPECT_TRUE(opened->is_read);
  EXPECT_EQ(opened->remembered.facts.value(report::kWrittenVerdict), "EVICT");
}

class OpenJournalTest : public JournalRetryTest {
 protected:
  OpenedJournal open() { return open_journal(config_, machine_, std::nullopt); }
};

TEST_F(OpenJournalTest, a_node_without_a_past_has_lost_nothing) {
  EXPECT_EQ(open().remembered.lost, "");
  std::filesystem::remove_all(folder_.path());
  std::filesystem::create_directory(folder_.path());
  forbid();
  std::filesystem::remove(path() + ".lock");
  EXPECT_EQ(open().remembered.lost, "");
}

TEST_F(OpenJournalTest,
       ids_of_events_go_on_after_a_run_that_ended_in_order_and_never_come_again_after_others) {
  const auto end_run = [this](const std::string& is_open) {
    store::Batch batch;
    batch.events = {store::testing::event("before")};
    batch.values = {{std::string(runtime::kRunIsOpen), is_open}};
    ASSERT_TRUE(store::Journal::open(path(), store::testing::kNow).value().journal->commit(batch));
  };
  end_run("false");
  EXPECT_EQ(open().remembered.last_event_id, 1U);
  end_run("true");
  const std::uint64_t after_kill = open().remembered.last_event_id;
  EXPECT_GT(after_kill, 1U << 20);
  empty_->clock.advance(seconds{1});
  EXPECT_GT(open().remembered.last_event_id, after_kill + 100'000);
  EXPECT_THAT(open().remembered.events, ::testing::SizeIs(2)) << "they are held all the same";
}

TEST_F(OpenJournalTest, a_journal_that_cannot_be_written_is_read_and_may_not_be_all) {
  {
    store::Batch batch;
    batch.values = {{std::string(report::kWrittenVerdict), "EVICT"}};
    ASSERT_TRUE(store::Journal::open(path(), store::testing::kNow).value().journal->commit(batch));
  }
  allow();
  forbid();
  const OpenedJournal opened = open();
  EXPECT_EQ(opened.writer, nullptr);
  EXPECT_NE(opened.problem, "");
  EXPECT_EQ(opened.remembered.lost, opened.problem);
  EXPECT_EQ(opened.remembered.facts.value(report::kWrittenVerdict), "EVICT");
}

TEST_F(OpenJournalTest, what_is_salvaged_is_in_the_new_journal_before_anything_else) {
  {
    store::Batch batch;
    batch.values = {{std::string(report::kWrittenVerdict), "EVICT"}};
    ASSERT_TRUE(store::Journal::open(path(), store::testing::kNow).value().journal->commit(batch));
  }
  std::string text = store::testing::read_file(path());
  std::fill_n(text.begin(), 100, '\0');
  store::testing::write_file(path(), text);
  {
    const OpenedJournal opened = open();
    EXPECT_NE(opened.moved_aside, "");
    EXPECT_NE(opened.remembered.lost, "");
    EXPECT_EQ(opened.remembered.facts.value(report::kWrittenVerdict), "EVICT");
  }
  const OpenedJournal again = open();
  EXPECT_EQ(again.moved_aside, "");
  EXPECT_NE(again.remembered.lost, "") << "no look has been made since";
  EXPECT_EQ(again.remembered.facts.value(report::kWrittenVerdict), "EVICT");
}

}  // namespace
}  // namespace autopilot::agent
