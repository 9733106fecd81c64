// SPDX-License-Identifier: Apache-2.0
#include "store/history/history_postgres.hpp"

#include <csignal>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>

#include "learning/record_check.hpp"
#include "store/history/history.hpp"
#include "store/history/history_versions.hpp"
#include "store/history/history_writer.hpp"
#include "tests/support/learning/record_samples.hpp"
#include "tests/support/store/postgres_server.hpp"

namespace autopilot::store {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;
namespace samples = learning::testing;

constexpr Duration kPatience = seconds{30};

class TestClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return {samples::kBegin, std::chrono::steady_clock::now()}; }
};

class PostgresHistoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    static const auto server = testing::PostgresServer::start();
    if (server == nullptr) GTEST_SKIP() << "no PostgreSQL server";
    server_ = server.get();
    execute("DROP SCHEMA IF EXISTS autopilot_history CASCADE");
  }
  void execute(const std::string& sql) const { ASSERT_TRUE(server_->execute(sql)) << sql; }
  [[nodiscard]] std::unique_ptr<History> open(const std::string& user = "autopilot") const {
    auto opened = History::open(place(user), samples::kBegin);
    EXPECT_TRUE(opened) << opened.error().what;
    return opened ? std::move(opened->history) : nullptr;
  }
  [[nodiscard]] std::string place(const std::string& user) const {
    return server_->place() + " user=" + user;
  }
  [[nodiscard]] std::size_t stored() const {
    const auto records = History::open_read_only(server_->place()).value()->records({.limit = 100'000});
    EXPECT_TRUE(records) << records.error().what;
    return records ? records->size() : 0;
  }
  [[nodiscard]] HistoryWriter writer() const {
    return {server_->place(), std::make_shared<TestClock>(), {}, {.retry = milliseconds{20}}};
  }

  testing::PostgresServer* server_ = nullptr;
};

Status put_label(History& history, const std::string& id) {
  return history.put(std::vector<learning::HistoryRecord>{samples::label(id)});
}

TEST_F(PostgresHistoryTest, several_writers_create_the_tables_at_once_and_write_the_same_records) {
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 6; ++writer)
    writers.emplace_back([this, writer] {
      const auto history = open();
      ASSERT_NE(history, nullptr);
      for (int round = 0; round < 20; ++round) {
        std::vector<learning::HistoryRecord> records;
        for (int i = 0; i < 20; ++i)
          records.emplace_back(samples::label("l" + std::to_string((i * (writer + 1) * 7) % 20)));
        const Status put = history->put(records);
        EXPECT_TRUE(put) << put.error().what;
        ASSERT_TRUE(history->retain({}, samples::kBegin));
      }
    });
  for (std::thread& writer : writers)
    writer.join();
  EXPECT_EQ(stored(), 20U);
}

TEST_F(PostgresHistoryTest, nothing_acknowledged_is_lost_by_a_kill_of_the_server) {
  std::vector<std::string> acknowledged;
  auto history = open();
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 20; ++i) {
      const std::string id = std::to_string(round) + "/" + std::to_string(i);
      if (put_label(*history, id)) acknowledged.push_back(id);
      if (i == 9) server_->kill();
    }
    server_->run();
    const Status again = put_label(*history, "again" + std::to_string(round));
    EXPECT_TRUE(again) << "connects again: " << again.error().what;
  }
  EXPECT_EQ(acknowledged.size(), 30U);
  for (const std::string& id : acknowledged)
    EXPECT_TRUE(history->has("label", id).value()) << id;
}

TEST_F(PostgresHistoryTest, records_wait_while_the_server_restarts) {
  HistoryWriter writer = this->writer();
  for (int i = 0; i < 100; ++i)
    writer.put(samples::label("before" + std::to_string(i)));
  ASSERT_TRUE(writer.flush(kPatience));
  server_->kill();
  for (int i = 0; i < 100; ++i)
    writer.put(samples::label("meanwhile" + std::to_string(i)));
  writer.put([](const History& history) -> Result<HistoryWriter::Records> {
    if (!TRY(history.has("label", "meanwhile99"))) return fail(Errc::not_found, "out of order");
    return HistoryWriter::Records{samples::label("made")};
  });
  EXPECT_FALSE(writer.flush(milliseconds{100}));
  EXPECT_EQ(writer.status().waiting, 101U);
  EXPECT_NE(writer.status().problem, "");
  server_->run();
  ASSERT_TRUE(writer.flush(kPatience));
  EXPECT_EQ(writer.status().dropped, 0U);
  EXPECT_EQ(writer.status().problem, "");
  EXPECT_EQ(stored(), 201U);
}

TEST_F(PostgresHistoryTest, a_writer_without_work_closes_its_connection) {
  HistoryWriter writer(server_->place(), std::make_shared<TestClock>(), {}, {.rest = milliseconds{20}});
  writer.put(samples::label("first"));
  ASSERT_TRUE(writer.flush(kPatience));
  const auto connection = postgres::Connection::open(server_->place(), {});
  const auto others = [&connection] {
    return const_cast<postgres::Connection&>(*connection)
        .run(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'autopilot' AND pid <> "
            "pg_backend_pid()")
        .value()
        .integer(0, 0);
  };
  for (int i = 0; i < 1000 && others() > 0; ++i)
    std::this_thread::sleep_for(milliseconds{5});
  EXPECT_EQ(others(), 0);
  writer.put(samples::label("second"));
  ASSERT_TRUE(writer.flush(kPatience));
  EXPECT_EQ(stored(), 2U);
}

TEST_F(PostgresHistoryTest, a_maker_waits_until_the_password_is_accepted_again) {
  static_cast<void>(server_->execute("CREATE ROLE writer LOGIN SUPERUSER"));
  HistoryWriter writer(place("writer"), std::make_shared<TestClock>(), {},
                       {.retry = milliseconds{20}, .rest = milliseconds{1}});
  writer.put(samples::label("first"));
  ASSERT_TRUE(writer.flush(kPatience));
  std::this_thread::sleep_for(milliseconds{50});
  execute("ALTER ROLE writer NOLOGIN");
  writer.put([](const History&) -> Result<HistoryWriter::Records> {
    return HistoryWriter::Records{samples::label("made")};
  });
  EXPECT_FALSE(writer.flush(milliseconds{200}));
  execute("ALTER ROLE writer LOGIN");
  ASSERT_TRUE(writer.flush(kPatience));
  EXPECT_EQ(writer.status().dropped, 0U);
  EXPECT_EQ(stored(), 2U);
}

TEST_F(PostgresHistoryTest, begins_anew_if_the_tables_are_dropped) {
  HistoryWriter writer = this->writer();
  writer.put(samples::label("lost"));
  ASSERT_TRUE(writer.flush(kPatience));
  execute("DROP SCHEMA autopilot_history CASCADE");
  writer.put(samples::label("kept"));
  ASSERT_TRUE(writer.flush(kPatience));
  EXPECT_EQ(stored(), 1U);
}

TEST_F(PostgresHistoryTest, a_server_that_hangs_is_given_up) {
  auto connection = postgres::Connection::open(server_->place(), {.statement = milliseconds{100}});
  ASSERT_TRUE(connection);
  const auto pid = connection->run("SELECT pg_backend_pid()").value().integer(0, 0);
  const auto slow = connection->run("SELECT pg_sleep(5)");
  ASSERT_FALSE(slow);
  EXPECT_EQ(slow.error().code, Errc::unavailable);
  EXPECT_TRUE(connection->is_usable()) << "the server ended the statement";
  ::kill(static_cast<pid_t>(pid), SIGSTOP);
  const auto hung = connection->run("SELECT 1");
  ::kill(static_cast<pid_t>(pid), SIGCONT);
  ASSERT_FALSE(hung);
  EXPECT_EQ(hung.error().code, Errc::unavailable);
  EXPECT_THAT(hung.error().what, HasSubstr("has not answered"));
  EXPECT_FALSE(connection->is_usable());
}

TEST_F(PostgresHistoryTest, a_newer_schema_is_refused_by_readers_and_writers) {
  ASSERT_NE(open(), nullptr);
  execute("UPDATE autopilot_history.schema_version SET version = 99");
  for (const Error& error : {History::open(server_->place(), samples::kBegin).error(),
                             History::open_read_only(server_->place()).error()}) {
    EXPECT_EQ(error.code, Errc::unsupported);
    EXPECT_THAT(error.what, HasSubstr("newer schema version 99"));
  }
}

TEST_F(PostgresHistoryTest, an_older_schema_is_migrated_with_its_records) {
  ASSERT_TRUE(put_label(*open(), "old"));
  execute("UPDATE autopilot_history.schema_version SET version = 1");
  execute("DROP INDEX autopilot_history.records_by_begin");
  for (const char* index : {"records_of_node ON autopilot_history.records(node, begin_ns)",
                            "records_of_type ON autopilot_history.records(type, begin_ns, outcome, node)",
                            "records_by_outcome ON autopilot_history.records(type, outcome, end_ns)"}) {
    const std::string text(index);
    execute("DROP INDEX autopilot_history." + text.substr(0, text.find(' ')));
    execute("CREATE INDEX " + text);
  }
  EXPECT_EQ(History::open_read_only(server_->place()).error().code, Errc::unavailable);
  EXPECT_TRUE(open()->has("label", "old").value());
  EXPECT_EQ(stored(), 1U);
}

TEST_F(PostgresHistoryTest, a_reader_creates_nothing) {
  EXPECT_EQ(History::open_read_only(server_->place()).error().code, Errc::not_found);
}

TEST_F(PostgresHistoryTest, roles_have_the_rights_that_they_are_granted) {
  for (const char* role : {"reader", "agent", "other"}) {
    static_cast<void>(server_->execute("DROP OWNED BY " + std::string(role)));
    static_cast<void>(server_->execute("DROP ROLE " + std::string(role)));
    execute("CREATE ROLE " + std::string(role) + " LOGIN");
  }
  const auto no_schema = History::open(place("agent"), samples::kBegin);
  ASSERT_FALSE(no_schema);
  EXPECT_EQ(no_schema.error().code, Errc::denied);
  execute("CREATE SCHEMA autopilot_history AUTHORIZATION agent");
  ASSERT_TRUE(put_label(*open("agent"), "l1"));
  EXPECT_EQ(History::open_read_only(place("reader")).error().code, Errc::denied);
  execute("GRANT USAGE ON SCHEMA autopilot_history TO reader");
  execute("GRANT SELECT ON ALL TABLES IN SCHEMA autopilot_history TO reader");
  EXPECT_TRUE(History::open_read_only(place("reader")).value()->has("label", "l1").value());
  const Status refused = put_label(*open("reader"), "l2");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::denied);
  execute("GRANT USAGE ON SCHEMA autopilot_history TO other");
  execute("GRANT SELECT ON autopilot_history.schema_version TO other");
  execute("GRANT SELECT, INSERT, UPDATE, DELETE ON autopilot_history.records TO other");
  const auto other = open("other");
  EXPECT_TRUE(put_label(*other, "l4"));
  EXPECT_TRUE(other->retain({}, samples::kBegin));
  execute("ALTER ROLE agent SET default_transaction_read_only = on");
  const Status read_only = put_label(*open("agent"), "l3");
  ASSERT_FALSE(read_only);
  EXPECT_EQ(read_only.error().code, Errc::denied);
}

TEST_F(PostgresHistoryTest, errors_name_the_place_without_the_password) {
  const std::string socket = server_->place();
  const std::vector<std::string> places{socket + " password=SECRET port=1",
                                        "postgresql://agent:SECRET@127.0.0.1:1/fleet",
                                        "postgresql://agent:p@SECRET@127.0.0.1:1/fleet",
                                        "postgresql://agent:p/SECRET@127.0.0.1:1/fleet",
                                        "postgresql://agent:p%ZZSECRET@127.0.0.1:1/fleet",
                                        "postgresql://127.0.0.1:1/fleet?password=a&SECRET=b",
                                        "host=127.0.0.1 password=p SECRET",
                                        "host=127.0.0.1 port=1 password='p SECRET'"};
  for (const std::string& place : places) {
    const auto opened = History::open(place, samples::kBegin);
    ASSERT_FALSE(opened) << place;
    EXPECT_THAT(opened.error().what, Not(HasSubstr("SECRET"))) << place;
    EXPECT_THAT(opened.error().what, HasSubstr("postgresql://"));
  }
  const auto missing = History::open(socket + " dbname=absent", samples::kBegin);
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().what, HasSubstr("\"absent\" does not exist"));
}

TEST_F(PostgresHistoryTest, another_encoding_is_refused) {
  static_cast<void>(server_->execute(
      "CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"));
  const auto opened = History::open(server_->place("latin"), samples::kBegin);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Errc::unsupported);
  EXPECT_THAT(opened.error().what, HasSubstr("LATIN1"));
}

}  // namespace
}  // namespace autopilot::store
