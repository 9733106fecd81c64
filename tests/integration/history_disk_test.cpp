// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "learning/record_check.hpp"
#include "store/history/history.hpp"
#include "tests/support/learning/record_samples.hpp"
#include "tests/support/store/small_disk.hpp"

namespace autopilot::store {
namespace {

namespace samples = learning::testing;

std::vector<std::string> stored_ids(const History& history) {
  std::vector<std::string> ids;
  const HistoryQuery all{.is_oldest_first = true, .limit = History::kMaxRows};
  const auto records = history.records(all).value();
  for (const auto& record : records)
    ids.push_back(learning::id_of(record));
  return ids;
}

learning::HistoryRecord long_label(int number) {
  learning::Label label =
      samples::label("l" + std::to_string(number), samples::kBegin + std::chrono::seconds{number});
  label.note = std::string(3000, '.');
  return label;
}

TEST(HistoryDisk, a_full_disk_refuses_and_loses_nothing) {
  const testing::SmallDisk disk;
  if (!disk.reason().empty()) GTEST_SKIP() << disk.reason();
  const std::string path = disk / "history.db";
  auto history = History::open(path, samples::kBegin).value().history;
  testing::fill(disk / "filler");
  std::vector<std::string> durable;
  Status done;
  // The log has some room of its own left.
  for (int i = 0; i < 10'000 && done; ++i) {
    const std::vector<learning::HistoryRecord> records{long_label(i)};
    done = history->put(records);
    if (done) durable.push_back(learning::id_of(records.front()));
  }
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::exhausted) << done.error().what;
  EXPECT_EQ(stored_ids(*history), durable);

  std::filesystem::remove(disk / "filler");
  const std::vector<learning::HistoryRecord> after{long_label(20'000)};
  ASSERT_TRUE(history->put(after));
  durable.emplace_back("l20000");
  history.reset();
  const auto opened = History::open(path, samples::kBegin);
  ASSERT_TRUE(opened) << opened.error().what;
  EXPECT_EQ(opened->moved_aside, "");
  EXPECT_EQ(stored_ids(*opened->history), durable);
}

}  // namespace
}  // namespace autopilot::store
