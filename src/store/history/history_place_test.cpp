// SPDX-License-Identifier: Apache-2.0
// What holds in a file and in PostgreSQL alike.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

#include "learning/record_check.hpp"
#include "store/history/history.hpp"
#include "store/history/record_text.hpp"
#include "tests/support/host/test_folder.hpp"
#include "tests/support/learning/record_samples.hpp"
#include "tests/support/store/journal_fixture.hpp"
#include "tests/support/store/postgres_server.hpp"

namespace autopilot::store {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
namespace samples = learning::testing;

class HistoryPlaceTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (GetParam() == std::string("file")) return;
    static const auto server = testing::PostgresServer::start();
    if (server == nullptr) GTEST_SKIP() << "no PostgreSQL server";
    ASSERT_TRUE(server->execute("DROP SCHEMA IF EXISTS autopilot_history CASCADE"));
    path_ = server->place();
  }
  [[nodiscard]] std::unique_ptr<History> open() const {
    auto opened = History::open(path_, samples::kBegin);
    EXPECT_TRUE(opened) << opened.error().what;
    return opened ? std::move(opened->history) : nullptr;
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

INSTANTIATE_TEST_SUITE_P(Places, HistoryPlaceTest, ::testing::Values("file", "postgres"),
                         [](const auto& place) { return std::string(place.param); });

std::vector<learning::HistoryRecord> single(learning::HistoryRecord record) {
  return {std::move(record)};
}

TEST_P(HistoryPlaceTest, returns_every_member_of_every_type) {
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

TEST_P(HistoryPlaceTest, a_record_replaces_the_one_of_its_type_and_id) {
  const auto history = open();
  learning::Fault fault = samples::fault();
  fault.end.reset();
  ASSERT_TRUE(history->put(single(fault)));
  ASSERT_TRUE(history->put(single(samples::label("f1"))));
  fault.end = fault.begin + hours{1};
  fault.place.node = "gpu-018";
  ASSERT_TRUE(history->put(single(fault)));
  ASSERT_TRUE(history->put(single(fault)));
  EXPECT_THAT(ids(*history, {.types = {"fault"}}), ElementsAre("f1"));
  EXPECT_THAT(ids(*history, {.node = "gpu-017"}), ElementsAre("f1")) << "the label";
  EXPECT_THAT(ids(*history, {.types = {"fault"}, .node = "gpu-018"}), ElementsAre("f1"));
}

TEST_P(HistoryPlaceTest, stores_all_records_or_none) {
  const auto history = open();
  const std::vector<learning::HistoryRecord> records{samples::fault("good"), samples::fault("")};
  const Status done = history->put(records);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::conflict);
  EXPECT_EQ(done.error().what, "fault '': id: missing");
  EXPECT_THAT(ids(*history), IsEmpty());
}

TEST_P(HistoryPlaceTest, a_card_keeps_its_history_on_another_node) {
  const auto history = open();
  learning::Fault first = samples::fault("first");
  learning::Fault second = samples::fault("second", samples::kBegin + hours{1});
  second.place.node = "gpu-099";
  learning::Fault other = samples::fault("other");
  other.place.gpu = "S2";
  ASSERT_TRUE(history->put(std::vector<learning::HistoryRecord>{first, second, other}));
  EXPECT_THAT(ids(*history, {.gpu = "S1"}), ElementsAre("second", "first"));
}

TEST_P(HistoryPlaceTest, two_clusters_can_have_nodes_of_one_name) {
  const auto history = open();
  learning::Fault other = samples::fault("other");
  other.place.cluster = "test";
  ASSERT_TRUE(history->put(std::vector<learning::HistoryRecord>{samples::fault(), other}));
  EXPECT_THAT(ids(*history, {.cluster = "test", .node = "gpu-017"}), ElementsAre("other"));
}

TEST_P(HistoryPlaceTest, finds_jobs_that_ran_in_an_interval) {
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

TEST_P(HistoryPlaceTest, finds_validations_that_failed) {
  const auto history = open();
  learning::Validation passed = samples::validation("passed");
  passed.verdict = learning::Verdict::passed;
  ASSERT_TRUE(history->put(std::vector<learning::HistoryRecord>{
      samples::validation("old", samples::kBegin - hours{50}), samples::validation("new"), passed}));
  EXPECT_THAT(ids(*history, {.types = {"validation"}, .outcome = "failed", .since = samples::kBegin}),
              ElementsAre("new"));
}

TEST_P(HistoryPlaceTest, counts_faults_by_class_and_node) {
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

TEST_P(HistoryPlaceTest, a_query_has_a_limit_and_an_order) {
  const auto history = open();
  for (int i = 0; i < 5; ++i)
    ASSERT_TRUE(history->put(single(samples::label("l" + std::to_string(i), samples::kBegin + minutes{i}))));
  EXPECT_THAT(ids(*history, {.limit = 2}), ElementsAre("l4", "l3"));
  EXPECT_THAT(ids(*history, {.is_oldest_first = true, .limit = 2}), ElementsAre("l0", "l1"));
}

// Against the plain definition, over random records and questions.
TEST_P(HistoryPlaceTest, answers_as_a_list_would) {
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

TEST_P(HistoryPlaceTest, forgets_what_is_older_than_the_age) {
  const auto history = open();
  ASSERT_TRUE(history->put(std::vector<learning::HistoryRecord>{
      samples::fault("old", samples::kBegin - hours{49}), samples::fault("new")}));
  ASSERT_TRUE(history->retain({.age = hours{48}}, samples::kBegin));
  EXPECT_THAT(ids(*history), ElementsAre("new"));
}

TEST_P(HistoryPlaceTest, a_clock_that_is_years_ahead_deletes_one_day) {
  const auto history = open();
  ASSERT_TRUE(history->put(std::vector<learning::HistoryRecord>{
      samples::fault("first", samples::kBegin), samples::fault("second", samples::kBegin + hours{25}),
      samples::fault("third", samples::kBegin + hours{100})}));
  ASSERT_TRUE(history->retain({.age = hours{48}}, samples::kBegin + hours{30'000}));
  EXPECT_THAT(ids(*history), ElementsAre("third", "second"));
}

TEST_P(HistoryPlaceTest, states_what_it_holds) {
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

TEST_P(HistoryPlaceTest, a_reader_and_a_second_writer_work_beside_the_first) {
  const auto agent = open();
  const auto import = History::open(path_, samples::kBegin, History::IfUnusable::fail).value().history;
  const auto reader = History::open_read_only(path_).value();
  ASSERT_TRUE(agent->put(single(samples::fault())));
  ASSERT_TRUE(import->put(single(samples::repair())));
  EXPECT_THAT(ids(*reader), ElementsAre("f1", "r1"));
  const Status refused = reader->put(single(samples::label()));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::denied);
}

TEST_P(HistoryPlaceTest, visits_more_rows_than_one_answer_holds_and_stops_on_request) {
  const auto history = open();
  std::vector<learning::HistoryRecord> records;
  for (int i = 0; i < 1203; ++i)
    records.emplace_back(samples::label("l" + std::to_string(i), samples::kBegin + minutes{i}));
  ASSERT_TRUE(history->put(records));
  int visited = 0;
  ASSERT_TRUE(history->visit({}, [&](const learning::HistoryRecord&) { return ++visited > 0; }));
  EXPECT_EQ(visited, 1203);
  ASSERT_TRUE(history->visit({}, [&](const learning::HistoryRecord&) { return --visited > 600; }));
  EXPECT_EQ(visited, 600);
  EXPECT_EQ(ids(*history).size(), 1000U) << "and another question follows";
}

TEST_P(HistoryPlaceTest, the_last_of_two_records_of_one_id_remains) {
  const auto history = open();
  learning::Label first = samples::label();
  learning::Label last = samples::label();
  last.note = "last";
  ASSERT_TRUE(history->put(std::vector<learning::HistoryRecord>{first, last}));
  const auto found = history->records({}).value();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(std::get<learning::Label>(found.front()).note, "last");
}

TEST_P(HistoryPlaceTest, finds_one_record) {
  const auto history = open();
  ASSERT_TRUE(history->put(
      std::vector<learning::HistoryRecord>{samples::fault("a"), samples::label("a"), samples::fault("b")}));
  const auto found = history->records({.types = {"fault"}, .id = "a"}).value();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(to_text(found.front()), to_text(samples::fault("a")));
  EXPECT_THAT(ids(*history, {.types = {"fault"}, .id = "c"}), IsEmpty());
}

TEST_P(HistoryPlaceTest, hostile_texts_are_values) {
  const auto history = open();
  learning::Label label = samples::label("'; DROP TABLE records; --");
  label.place.node = "$1 ? \\ \" %s \x1b \xf0\x9f\x92\xa5";
  label.note = "\x01\x7f\\u0000";
  ASSERT_TRUE(history->put(single(label)));
  EXPECT_EQ(to_text(history->records({.node = label.place.node}).value().at(0)), to_text(label));
  EXPECT_TRUE(history->has("label", label.id).value());
  for (const std::string& text : {std::string("a\0b", 3), std::string("\xff"), std::string("\xed\xa0\x80")}) {
    EXPECT_THAT(ids(*history, {.node = text}), IsEmpty());
    EXPECT_FALSE(history->has("label", text).value());
    learning::Label refused = samples::label();
    refused.note = text;
    EXPECT_EQ(history->put(single(refused)).error().code, Errc::conflict);
  }
}

TEST_P(HistoryPlaceTest, texts_are_in_the_order_of_their_bytes) {
  const auto history = open();
  for (const char* id : {"b", "A", "a", "\xc3\xa4", "B"})
    ASSERT_TRUE(history->put(single(samples::label(id))));
  EXPECT_THAT(ids(*history), ElementsAre("A", "B", "a", "b", "\xc3\xa4"));
}

}  // namespace
}  // namespace autopilot::store
