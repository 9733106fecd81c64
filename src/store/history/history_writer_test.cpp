// SPDX-License-Identifier: Apache-2.0
#include "store/history/history_writer.hpp"

#include <chrono>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>

#include "learning/record_check.hpp"
#include "tests/support/host/test_folder.hpp"
#include "tests/support/learning/record_samples.hpp"

namespace autopilot::store {
namespace {

namespace samples = learning::testing;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr Duration kHistoryWait = std::chrono::seconds{20};

class HistoryClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return {samples::kBegin, std::chrono::steady_clock::now()}; }
};

class HistoryWriterTest : public ::testing::Test {
 protected:
  void open(HistoryWriterLimits limits = {}) {
    writer_ =
        std::make_unique<HistoryWriter>(path_, std::make_shared<HistoryClock>(), HistoryRetention{}, limits);
  }
  [[nodiscard]] std::vector<std::string> stored() const {
    std::vector<std::string> ids;
    const auto history = History::open_read_only(path_);
    EXPECT_TRUE(history) << history.error().what;
    if (!history) return ids;
    const auto records = (*history)->records({.is_oldest_first = true}).value();
    for (const auto& record : records)
      ids.push_back(learning::id_of(record));
    return ids;
  }
  // With a deadline; the state of the writer changes on its own thread.
  bool wait_for(const std::function<bool(const HistoryWriterStatus&)>& condition) const {
    const auto end = std::chrono::steady_clock::now() + kHistoryWait;
    while (std::chrono::steady_clock::now() < end) {
      if (condition(writer_->status())) return true;
      std::this_thread::yield();
    }
    return false;
  }

  host::TestFolder folder_;
  std::string path_ = folder_ / "state/history.db";
  std::unique_ptr<HistoryWriter> writer_;
};

TEST_F(HistoryWriterTest, writes_what_is_put) {
  open();
  writer_->put(samples::fault());
  writer_->put(samples::label("l1", samples::kBegin + milliseconds{1}));
  ASSERT_TRUE(writer_->flush(kHistoryWait));
  EXPECT_THAT(stored(), ElementsAre("f1", "l1"));
  EXPECT_EQ(writer_->status().written, 2U);
  EXPECT_TRUE(wait_for([](const auto& status) { return status.bytes > 0; }));
}

TEST_F(HistoryWriterTest, stop_writes_what_waits) {
  open();
  for (int i = 0; i < 1000; ++i)
    writer_->put(samples::label("l" + std::to_string(i)));
  ASSERT_TRUE(writer_->stop(kHistoryWait));
  EXPECT_EQ(stored().size(), 1000U);
  writer_->put(samples::fault());
  EXPECT_EQ(writer_->status().dropped, 1U);
}

TEST_F(HistoryWriterTest, makes_records_from_what_was_put_before) {
  open();
  writer_->put(samples::node_job("j1/a"));
  writer_->put([](const History& history) -> Result<HistoryWriter::Records> {
    auto records = TRY(history.records({.types = {"job"}}));
    std::get<learning::NodeJob>(records.at(0)).id = "copy";
    return records;
  });
  writer_->put([](const History&) -> Result<HistoryWriter::Records> {
    return fail(Errc::not_found, "nothing to make");
  });
  ASSERT_TRUE(writer_->flush(kHistoryWait));
  EXPECT_THAT(stored(), ::testing::UnorderedElementsAre("j1/a", "copy"));
  EXPECT_EQ(writer_->status().dropped, 1U);
}

TEST_F(HistoryWriterTest, shortens_what_is_too_long_and_drops_what_is_invalid) {
  open();
  learning::Label label = samples::label();
  label.note = std::string(10'000, 'x');
  writer_->put(label);
  writer_->put(samples::fault(""));
  ASSERT_TRUE(writer_->flush(kHistoryWait));
  EXPECT_THAT(stored(), ElementsAre("l1"));
  EXPECT_EQ(writer_->status().dropped, 1U);
}

TEST_F(HistoryWriterTest, an_invalid_record_takes_no_other_one_with_it) {
  open();
  writer_->put([](const History&) -> Result<HistoryWriter::Records> {
    return HistoryWriter::Records{samples::fault("f1"), samples::fault(""), samples::fault("f2")};
  });
  ASSERT_TRUE(writer_->flush(kHistoryWait));
  EXPECT_THAT(stored(), ::testing::UnorderedElementsAre("f1", "f2"));
  EXPECT_EQ(writer_->status().dropped, 1U);
  EXPECT_THAT(writer_->status().problem, HasSubstr("is not stored"));
}

TEST_F(HistoryWriterTest, a_file_that_is_damaged_while_open_is_moved_aside) {
  open();
  writer_->put(samples::node_job("j1/a"));
  ASSERT_TRUE(writer_->flush(kHistoryWait));
  writer_->put([](const History&) -> Result<HistoryWriter::Records> {
    return fail(Errc::malformed, "database disk image is malformed");
  });
  EXPECT_TRUE(wait_for([](const auto& status) { return !status.moved_aside.empty(); }));
  EXPECT_TRUE(std::filesystem::exists(writer_->status().moved_aside));
}

TEST_F(HistoryWriterTest, tries_again_until_the_folder_can_be_used) {
  folder_.write("/state", "a file where the folder must be");
  open({.waiting = 3, .retry = milliseconds{5}});
  for (int i = 0; i < 5; ++i)
    writer_->put(samples::label("l" + std::to_string(i)));
  EXPECT_EQ(writer_->status().dropped, 2U) << "beyond the limit";
  EXPECT_TRUE(wait_for([](const auto& status) { return !status.problem.empty(); }));
  EXPECT_THAT(writer_->status().problem, HasSubstr("state"));
  std::filesystem::remove(folder_ / "state");
  ASSERT_TRUE(writer_->flush(kHistoryWait));
  EXPECT_THAT(stored(), ElementsAre("l0", "l1", "l2"));
  EXPECT_EQ(writer_->status().problem, "");
}

TEST_F(HistoryWriterTest, ends_although_nothing_can_be_written) {
  folder_.write("/state", "a file where the folder must be");
  open();
  writer_->put(samples::fault());
  EXPECT_TRUE(writer_->stop(kHistoryWait));
  EXPECT_EQ(writer_->status().dropped, 1U);
}

TEST_F(HistoryWriterTest, begins_anew_if_the_file_is_removed) {
  open();
  writer_->put(samples::fault("lost"));
  ASSERT_TRUE(writer_->flush(kHistoryWait));
  for (const char* ending : {"", "-wal", "-shm"})
    std::filesystem::remove(path_ + ending);
  writer_->put(samples::fault("kept"));
  ASSERT_TRUE(writer_->flush(kHistoryWait));
  EXPECT_THAT(stored(), ElementsAre("kept"));
}

}  // namespace
}  // namespace autopilot::store
