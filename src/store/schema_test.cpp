// SPDX-License-Identifier: Apache-2.0
#include "store/schema.hpp"

#include <array>
#include <gtest/gtest.h>

#include "tests/support/host/test_folder.hpp"
#include "tests/support/store/journal_fixture.hpp"

namespace autopilot::store {
namespace {

const std::array kSteps{Migration{1, "CREATE TABLE notes(text TEXT NOT NULL) STRICT"},
                        Migration{2, "ALTER TABLE notes ADD COLUMN author TEXT NOT NULL DEFAULT 'nobody'"},
                        Migration{3, "UPDATE notes SET text = upper(text)"}};

class MigrateTest : public ::testing::Test {
 protected:
  MigrateTest() { testing::write_file(path_, ""); }
  [[nodiscard]] sqlite::Connection open() const {
    return sqlite::Connection::open(path_, sqlite::Access::read_write).value();
  }
  host::TestFolder folder_;
  std::string path_ = folder_ / "old.db";
};

TEST_F(MigrateTest, brings_an_older_file_up_to_date_with_its_rows) {
  auto connection = open();
  ASSERT_TRUE(migrate(connection, std::span(kSteps).first(1)));
  ASSERT_TRUE(connection.execute("INSERT INTO notes VALUES('kept')"));
  ASSERT_TRUE(migrate(connection, kSteps));
  EXPECT_EQ(kind_of(connection)->version, 3);
  EXPECT_TRUE(kind_of(connection)->is_journal);
  EXPECT_EQ(connection.text("SELECT text || author FROM notes").value(), "KEPTnobody");
}

TEST_F(MigrateTest, a_journal_of_the_first_version_keeps_its_events) {
  auto connection = open();
  ASSERT_TRUE(migrate(connection, migrations().first(1)));
  ASSERT_TRUE(connection.execute("INSERT INTO events VALUES(7, 1, 'gpu.xid', '{}')"));
  ASSERT_TRUE(migrate(connection, migrations()));
  EXPECT_EQ(connection.integer("SELECT id FROM events").value(), 7);
  EXPECT_TRUE(check_schema(connection, migrations()));
}

TEST_F(MigrateTest, does_nothing_twice) {
  auto connection = open();
  ASSERT_TRUE(migrate(connection, kSteps));
  ASSERT_TRUE(connection.execute("INSERT INTO notes(text) VALUES('low')"));
  ASSERT_TRUE(migrate(connection, kSteps));
  EXPECT_EQ(connection.text("SELECT text FROM notes").value(), "low");
}

TEST_F(MigrateTest, a_failing_step_leaves_the_version_before_it) {
  auto connection = open();
  auto steps = kSteps;
  const std::string broken = std::string(steps[1].sql) + "; SELECT * FROM no_such_table";
  steps[1].sql = broken;
  EXPECT_FALSE(migrate(connection, steps));
  EXPECT_EQ(kind_of(connection)->version, 1);
  EXPECT_FALSE(connection.prepare("SELECT author FROM notes")) << "half a step";
  EXPECT_TRUE(migrate(connection, kSteps));
  EXPECT_EQ(kind_of(connection)->version, 3);
}

TEST_F(MigrateTest, a_gap_in_the_steps_is_refused) {
  auto connection = open();
  EXPECT_EQ(migrate(connection, std::span(kSteps).subspan(1)).error().code, Errc::internal);
}

TEST_F(MigrateTest, the_journals_own_steps_end_at_its_version) {
  ASSERT_FALSE(migrations().empty());
  EXPECT_EQ(migrations().back().version, Journal::kSchemaVersion);
  auto connection = open();
  EXPECT_TRUE(kind_of(connection)->is_empty);
  ASSERT_TRUE(migrate(connection, migrations()));
  EXPECT_TRUE(check_integrity(connection));
}

TEST_F(MigrateTest, the_journal_gives_freed_pages_back) {
  const auto path = folder_ / "journal.db";
  ASSERT_TRUE(Journal::open(path, testing::kNow));
  const auto connection = sqlite::Connection::open(path, sqlite::Access::read_write).value();
  constexpr int kIncremental = 2;
  EXPECT_EQ(connection.integer("PRAGMA auto_vacuum").value(), kIncremental);
  EXPECT_EQ(connection.text("PRAGMA journal_mode").value(), "wal");
}

// A journal whose tables differ from this text is moved aside when it is opened: one blank more, and every
// node forgets its past. A change of the tables is a new version.
TEST(Schema, the_text_of_a_version_never_changes) {
  const std::string text(migrations().front().sql);
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  EXPECT_EQ(text.size(), 1599U);
  EXPECT_EQ(hash, 7822090902072229207U);
}

}  // namespace
}  // namespace autopilot::store
