// SPDX-License-Identifier: Apache-2.0
#include "store/history/history.hpp"

#include <array>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "learning/record_check.hpp"
#include "store/history/record_text.hpp"
#include "tests/support/host/test_folder.hpp"
#include "tests/support/learning/record_samples.hpp"
#include "tests/support/store/journal_fixture.hpp"

namespace autopilot::store {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
namespace samples = learning::testing;

class HistoryTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::unique_ptr<History> open() const {
    auto opened = History::open(path_, samples::kBegin);
    EXPECT_TRUE(opened) << opened.error().what;
    if (!opened) return nullptr;
    EXPECT_EQ(opened->moved_aside, "") << opened->reason;
    return std::move(opened->history);
  }
  static std::vector<std::string> ids(const History& history, const HistoryQuery& query = {}) {
    const auto records = history.records(query);
    EXPECT_TRUE(records) << records.error().what;
    std::vector<std::string> ids;
    for (const auto& record : records.value_or(std::vector<learning::HistoryRecord>{}))
      ids.push_back(learning::id_of(record));
    return ids;
  }

  host::TestFolder folder_;
  std::string path_ = folder_ / "a/b/history.db";
};

mode_t history_mode_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 0777;
}

std::vector<learning::HistoryRecord> one(learning::HistoryRecord record) {
  return {std::move(record)};
}

TEST_F(HistoryTest, is_for_its_owner_only) {
  const auto history = open();
  EXPECT_EQ(history_mode_of(path_), 0600U);
  EXPECT_EQ(history_mode_of(folder_ / "a/b"), 0700U);
}

TEST_F(HistoryTest, many_jobs_evict_no_ticket) {
  const auto history = open();
  std::vector<learning::HistoryRecord> records{samples::label("rma", samples::kBegin - hours{1})};
  for (int i = 0; i < 2000; ++i) {
    learning::Validation validation =
        samples::validation("v" + std::to_string(i), samples::kBegin + minutes{i});
    validation.cause = std::string(2000, 'x');
    records.emplace_back(validation);
  }
  ASSERT_TRUE(history->put(records));
  ASSERT_TRUE(history->retain({.bytes = std::uint64_t{1} << 20}, samples::kBegin));
  const auto left = ids(*history);
  EXPECT_LT(left.size(), 1000U);
  EXPECT_EQ(left.back(), "rma");
}

TEST_F(HistoryTest, forgets_the_oldest_until_the_file_fits) {
  const auto history = open();
  std::vector<learning::HistoryRecord> records;
  for (int i = 0; i < 2000; ++i) {
    learning::Label label = samples::label("l" + std::to_string(i), samples::kBegin + minutes{i});
    label.note = std::string(2000, 'x');
    records.emplace_back(label);
  }
  ASSERT_TRUE(history->put(records));
  constexpr std::uint64_t kLimit = std::uint64_t{1} << 20;
  ASSERT_TRUE(history->retain({.bytes = kLimit}, samples::kBegin));
  EXPECT_LE(history->status().value().bytes, kLimit);
  const auto left = ids(*history);
  EXPECT_GT(left.size(), 200U);
  EXPECT_EQ(left.front(), "l1999");
}

TEST_F(HistoryTest, a_missing_or_empty_file_is_not_found) {
  EXPECT_EQ(History::open_read_only(path_).error().code, Errc::not_found);
  folder_.write("/empty.db", "");
  EXPECT_EQ(History::open_read_only(folder_ / "empty.db").error().code, Errc::not_found);
}

TEST_F(HistoryTest, an_unusable_file_is_moved_aside_or_refused) {
  testing::write_file(folder_ / "h.db", std::string(5000, 'z'));
  const auto refused = History::open(folder_ / "h.db", samples::kBegin, History::IfUnusable::fail);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::malformed);
  const auto opened = History::open(folder_ / "h.db", samples::kBegin).value();
  EXPECT_EQ(testing::read_file(opened.moved_aside), std::string(5000, 'z'));
  EXPECT_TRUE(opened.history->put(one(samples::fault())));
}

TEST_F(HistoryTest, a_newer_schema_is_kept_aside) {
  open().reset();
  sqlite3* connection = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &connection), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(connection, "PRAGMA user_version=99", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(connection);
  EXPECT_EQ(History::open_read_only(path_).error().code, Errc::unsupported);
  const auto opened = History::open(path_, samples::kBegin).value();
  EXPECT_NE(opened.moved_aside, "");
}

TEST_F(HistoryTest, a_file_of_version_1_is_migrated_with_its_records) {
  ASSERT_TRUE(open()->put(one(samples::fault())));
  sqlite3* connection = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &connection), SQLITE_OK);
  EXPECT_EQ(
      sqlite3_exec(connection,
                   "DROP INDEX records_by_begin; DROP INDEX records_of_node; DROP INDEX records_of_type; "
                   "DROP INDEX records_by_outcome; CREATE INDEX records_of_node ON records(node, begin_ns); "
                   "CREATE INDEX records_of_type ON records(type, begin_ns, outcome, node); "
                   "CREATE INDEX records_by_outcome ON records(type, outcome, end_ns); "
                   "PRAGMA user_version=1",
                   nullptr, nullptr, nullptr),
      SQLITE_OK);
  sqlite3_close(connection);
  EXPECT_EQ(History::open_read_only(path_).error().code, Errc::unavailable);
  EXPECT_THAT(ids(*open()), ElementsAre("f1"));
  EXPECT_THAT(ids(*History::open_read_only(path_).value()), ElementsAre("f1"));
}

TEST_F(HistoryTest, a_file_that_is_removed_while_open_takes_no_more) {
  const auto history = open();
  std::filesystem::remove(path_);
  const Status done = history->put(one(samples::fault()));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::malformed);
}

TEST_F(HistoryTest, a_damaged_row_is_skipped_and_counted) {
  ASSERT_TRUE(open()->put(std::vector<learning::HistoryRecord>{samples::fault(), samples::label()}));
  sqlite3* connection = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &connection), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(connection, "UPDATE records SET body = '{' WHERE type = 'fault'", nullptr, nullptr,
                         nullptr),
            SQLITE_OK);
  sqlite3_close(connection);
  const auto history = History::open_read_only(path_).value();
  EXPECT_THAT(ids(*history), ElementsAre("l1"));
  EXPECT_EQ(history->unreadable_rows(), 1U);
}

// The child: puts records until it dies, and writes the number of each that is durable.
[[noreturn]] void put_until_killed(const std::string& path, int out) {
  const auto opened = History::open(path, samples::kBegin);
  if (!opened) ::_exit(1);
  for (std::uint32_t i = 0;; ++i) {
    const std::vector<learning::HistoryRecord> records{samples::fault("f" + std::to_string(i)),
                                                       samples::label("l" + std::to_string(i))};
    if (!opened->history->put(records)) ::_exit(2);
    if (::write(out, &i, sizeof i) != sizeof i) ::_exit(3);
  }
}

TEST_F(HistoryTest, nothing_acknowledged_is_lost_by_a_kill) {
  std::mt19937 random = testing::random_numbers(42);
  for (int round = 0; round < 10; ++round) {
    const std::string path = folder_ / ("kill" + std::to_string(round) + ".db");
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    const pid_t child = ::fork();
    if (child == 0) put_until_killed(path, ends[1]);
    ::close(ends[1]);
    std::uint32_t last = 0;
    for (auto left = 1 + random() % 40; left > 0; --left)
      ASSERT_EQ(::read(ends[0], &last, sizeof last), static_cast<ssize_t>(sizeof last));
    ::kill(child, SIGKILL);
    while (::read(ends[0], &last, sizeof last) == static_cast<ssize_t>(sizeof last)) {
    }
    ::close(ends[0]);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    const auto opened = History::open(path, samples::kBegin);
    ASSERT_TRUE(opened) << opened.error().what;
    EXPECT_EQ(opened->moved_aside, "") << opened->reason;
    for (std::uint32_t i = 0; i <= last; ++i) {
      EXPECT_TRUE(opened->history->has("fault", "f" + std::to_string(i)).value()) << i;
      EXPECT_TRUE(opened->history->has("label", "l" + std::to_string(i)).value()) << i;
    }
  }
}

}  // namespace
}  // namespace autopilot::store
