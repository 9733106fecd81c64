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

TEST_F(HistoryTest, returns_every_member_of_every_type) {
  const auto stored = samples::one_of_each();
  ASSERT_TRUE(open()->put(stored));
  const auto history = History::open_read_only(path_).value();
  const auto found = history->records({}).value();
  ASSERT_EQ(found.size(), stored.size());
  std::map<std::string, std::string> texts;
  for (const auto& record : found)
    texts[learning::id_of(record)] = to_text(record);
  for (const auto& record : stored)
    EXPECT_EQ(texts[learning::id_of(record)], to_text(record));
}

TEST_F(HistoryTest, a_record_replaces_the_one_of_its_type_and_id) {
  const auto history = open();
  learning::Fault fault = samples::fault();
  fault.end.reset();
  ASSERT_TRUE(history->put(one(fault)));
  ASSERT_TRUE(history->put(one(samples::label("f1"))));
  fault.end = fault.begin + hours{1};
  fault.place.node = "gpu-018";
  ASSERT_TRUE(history->put(one(fault)));
  ASSERT_TRUE(history->put(one(fault)));
  EXPECT_THAT(ids(*history, {.types = {"fault"}}), ElementsAre("f1"));
  EXPECT_THAT(ids(*history, {.node = "gpu-017"}), ElementsAre("f1")) << "the label";
  EXPECT_THAT(ids(*history, {.types = {"fault"}, .node = "gpu-018"}), ElementsAre("f1"));
}

TEST_F(HistoryTest, stores_all_records_or_none) {
  const auto history = open();
  const std::vector<learning::HistoryRecord> records{samples::fault("good"), samples::fault("")};
  const Status done = history->put(records);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::conflict);
  EXPECT_EQ(done.error().what, "fault '': id: missing");
  EXPECT_THAT(ids(*history), IsEmpty());
}

TEST_F(HistoryTest, a_card_keeps_its_history_on_another_node) {
  const auto history = open();
  learning::Fault first = samples::fault("first");
  learning::Fault second = samples::fault("second", samples::kBegin + hours{1});
  second.place.node = "gpu-099";
  learning::Fault other = samples::fault("other");
  other.place.gpu = "S2";
  ASSERT_TRUE(history->put(std::vector<learning::HistoryRecord>{first, second, other}));
  EXPECT_THAT(ids(*history, {.gpu = "S1"}), ElementsAre("second", "first"));
}

TEST_F(HistoryTest, two_clusters_can_have_nodes_of_one_name) {
  const auto history = open();
  learning::Fault other = samples::fault("other");
  other.place.cluster = "test";
  ASSERT_TRUE(history->put(std::vector<learning::HistoryRecord>{samples::fault(), other}));
  EXPECT_THAT(ids(*history, {.cluster = "test", .node = "gpu-017"}), ElementsAre("other"));
}

TEST_F(HistoryTest, finds_jobs_that_ran_in_an_interval) {
  const auto history = open();
  learning::NodeJob running = samples::node_job("running", samples::kBegin);
  running.end.reset();
  ASSERT_TRUE(history->put(
      std::vector<learning::HistoryRecord>{samples::node_job("before", samples::kBegin - hours{10}), running,
                                           samples::node_job("later", samples::kBegin + hours{20}),
                                           samples::node_job("within", samples::kBegin + hours{1})}));
  const HistoryQuery query{.types = {"job"},
                           .node = "gpu-017",
                           .since = samples::kBegin + hours{5},
                           .until = samples::kBegin + hours{10}};
  EXPECT_THAT(ids(*history, query), ElementsAre("within", "running"));
}

TEST_F(HistoryTest, finds_validations_that_failed) {
  const auto history = open();
  learning::Validation passed = samples::validation("passed");
  passed.verdict = learning::Verdict::passed;
  ASSERT_TRUE(history->put(std::vector<learning::HistoryRecord>{
      samples::validation("old", samples::kBegin - hours{50}), samples::validation("new"), passed}));
  EXPECT_THAT(ids(*history, {.types = {"validation"}, .outcome = "failed", .since = samples::kBegin}),
              ElementsAre("new"));
}

TEST_F(HistoryTest, counts_faults_by_class_and_node) {
  const auto history = open();
  std::vector<learning::HistoryRecord> records;
  for (int i = 0; i < 5; ++i) {
    learning::Fault fault = samples::fault("f" + std::to_string(i));
    if (i < 2) fault.kind = learning::FaultClass::network;
    if (i == 0) fault.place.node = "gpu-001";
    records.emplace_back(fault);
  }
  records.emplace_back(samples::fault("old", samples::kBegin - hours{1}));
  ASSERT_TRUE(history->put(records));
  const auto classes = history->faults_by_class(samples::kBegin).value();
  ASSERT_EQ(classes.size(), 2U);
  EXPECT_EQ(classes.at(0).key, "hardware");
  EXPECT_EQ(classes.at(0).count, 3U);
  EXPECT_EQ(classes.at(1).count, 2U);
  const auto nodes = history->nodes_with_most_faults(samples::kBegin, 1).value();
  ASSERT_EQ(nodes.size(), 1U);
  EXPECT_EQ(nodes.at(0).key, "gpu-017");
  EXPECT_EQ(nodes.at(0).count, 4U);
}

TEST_F(HistoryTest, a_query_has_a_limit_and_an_order) {
  const auto history = open();
  for (int i = 0; i < 5; ++i)
    ASSERT_TRUE(history->put(one(samples::label("l" + std::to_string(i), samples::kBegin + minutes{i}))));
  EXPECT_THAT(ids(*history, {.limit = 2}), ElementsAre("l4", "l3"));
  EXPECT_THAT(ids(*history, {.is_oldest_first = true, .limit = 2}), ElementsAre("l0", "l1"));
}

// Against the plain definition, over random records and questions.
TEST_F(HistoryTest, answers_as_a_list_would) {
  const auto history = open();
  std::mt19937 random = testing::random_numbers(37);
  std::vector<learning::HistoryRecord> all;
  for (int i = 0; i < 300; ++i)
    all.push_back(samples::random_record(random, i));
  ASSERT_TRUE(history->put(all));
  for (int round = 0; round < 100; ++round) {
    HistoryQuery query;
    if (random() % 2 == 0) query.node = "gpu-" + std::to_string(random() % 4);
    if (random() % 2 == 0) query.types = {"fault", "job"};
    if (random() % 2 == 0) query.since = samples::kBegin + minutes{random() % 10'000};
    if (random() % 2 == 0) query.until = samples::kBegin + minutes{random() % 10'000};
    if (random() % 4 == 0) query.gpu = "S1";
    std::vector<std::string> expected;
    for (const auto& record : all) {
      const auto& place = learning::place_of(record);
      const auto end = learning::end_of(record);
      const std::string type{learning::type_of(record)};
      if (!query.node.empty() && place.node != query.node) continue;
      if (!query.gpu.empty() && place.gpu != query.gpu) continue;
      if (!query.types.empty() && type != "fault" && type != "job") continue;
      if (query.since && end && *end < *query.since) continue;
      if (query.until && learning::begin_of(record) >= *query.until) continue;
      expected.push_back(learning::id_of(record));
    }
    EXPECT_THAT(ids(*history, query), ::testing::UnorderedElementsAreArray(expected)) << round;
  }
}

TEST_F(HistoryTest, forgets_what_is_older_than_the_age) {
  const auto history = open();
  ASSERT_TRUE(history->put(std::vector<learning::HistoryRecord>{
      samples::fault("old", samples::kBegin - hours{49}), samples::fault("new")}));
  ASSERT_TRUE(history->retain({.age = hours{48}}, samples::kBegin));
  EXPECT_THAT(ids(*history), ElementsAre("new"));
}

TEST_F(HistoryTest, a_clock_that_is_years_ahead_deletes_one_day) {
  const auto history = open();
  ASSERT_TRUE(history->put(std::vector<learning::HistoryRecord>{
      samples::fault("first", samples::kBegin), samples::fault("second", samples::kBegin + hours{25}),
      samples::fault("third", samples::kBegin + hours{100})}));
  ASSERT_TRUE(history->retain({.age = hours{48}}, samples::kBegin + hours{30'000}));
  EXPECT_THAT(ids(*history), ElementsAre("third", "second"));
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

TEST_F(HistoryTest, states_what_it_holds) {
  const auto history = open();
  ASSERT_TRUE(history->put(std::vector<learning::HistoryRecord>{
      samples::fault("f1"), samples::fault("f2", samples::kBegin + hours{1}), samples::label()}));
  const auto status = history->status().value();
  ASSERT_EQ(status.records.size(), 2U);
  EXPECT_EQ(status.records.at(0).key, "fault");
  EXPECT_EQ(status.records.at(0).count, 2U);
  EXPECT_EQ(status.oldest, samples::kBegin);
  EXPECT_EQ(status.newest, samples::kBegin + hours{1});
  EXPECT_GT(status.bytes, 4096U);
}

TEST_F(HistoryTest, a_reader_and_a_second_writer_work_beside_the_first) {
  const auto agent = open();
  const auto import = History::open(path_, samples::kBegin, History::IfUnusable::fail).value().history;
  const auto reader = History::open_read_only(path_).value();
  ASSERT_TRUE(agent->put(one(samples::fault())));
  ASSERT_TRUE(import->put(one(samples::repair())));
  EXPECT_THAT(ids(*reader), ElementsAre("f1", "r1"));
  const Status refused = reader->put(one(samples::label()));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::denied);
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
