// SPDX-License-Identifier: Apache-2.0
#include "store/history/history_postgres.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "core/database_place.hpp"
#include "store/history/history.hpp"
#include "store/history/history_versions.hpp"
#include "store/postgres.hpp"
#include "store/rows.hpp"

namespace autopilot::store {
namespace {

// Texts are compared by their bytes, as SQLite does. The comments of history_schema.cpp apply.
constexpr std::string_view kPostgresTable =
    "CREATE TABLE records("
    "type TEXT COLLATE \"C\" NOT NULL, id TEXT COLLATE \"C\" NOT NULL, cluster TEXT COLLATE \"C\" NOT NULL, "
    "node TEXT COLLATE \"C\" NOT NULL, gpu TEXT COLLATE \"C\" NOT NULL, job TEXT COLLATE \"C\" NOT NULL, "
    "outcome TEXT COLLATE \"C\" NOT NULL, begin_ns BIGINT NOT NULL, end_ns BIGINT NOT NULL, "
    "body TEXT NOT NULL, PRIMARY KEY(type, id))";
// Advisory locks of this database: "APhi" and a number.
constexpr std::int64_t kMigrationLock = 0x4150686900000001;
constexpr std::int64_t kRetentionLock = 0x4150686900000002;
// A question of a person can sort millions of records; an index of as many takes minutes to create.
constexpr Duration kQuestionLimit = std::chrono::seconds{60};
constexpr Duration kWriteLimit = std::chrono::seconds{10};
constexpr Duration kMigrationLimit = std::chrono::minutes{10};
constexpr std::size_t kRowsOfStatement = 100;  // 10 values each
constexpr std::int64_t kFetchedRows = 500;

// The upsert of so many rows.
std::string put_statement(std::size_t rows) {
  std::string columns, updates;
  for (const std::string_view column : HistoryDatabase::kColumns) {
    columns.append(columns.empty() ? "" : ", ").append(column);
    if (column == "type" || column == "id") continue;
    updates.append(updates.empty() ? "" : ", ").append(column).append(" = excluded.").append(column);
  }
  std::string sql = "INSERT INTO records(" + columns + ") VALUES ";
  for (std::size_t row = 0; row < rows; ++row)
    sql += row == 0 ? "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)" : ", (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
  return sql + " ON CONFLICT(type, id) DO UPDATE SET " + updates;
}

// From the catalogs: to_regclass() would answer from a cache that is older than a lock that was waited for.
Result<bool> exists(postgres::Connection& connection, std::string_view catalog_query) {
  return TRY(connection.run(catalog_query)).rows() > 0;
}

// 0: there is no history yet.
Result<int> version_of(postgres::Connection& connection) {
  if (!TRY(exists(connection,
                  "SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = 'autopilot_history' AND tablename = "
                  "'schema_version'")))
    return 0;
  const auto version = TRY(connection.run("SELECT version FROM autopilot_history.schema_version"));
  return version.rows() == 0 ? 0 : static_cast<int>(version.integer(0, 0));
}

Status check_version(const std::string& place, int version) {
  if (version <= History::kSchemaVersion) return {};
  return fail(Errc::unsupported, place + ": the history has the newer schema version " +
                                     std::to_string(version) + "; use a newer autopilot");
}

// All steps in one transaction; another process can have migrated meanwhile.
Status migrate_postgres(postgres::Connection& connection, const std::string& place) {
  TRY_STATUS(connection.set_statement_limit(kMigrationLimit));
  auto transaction = TRY(postgres::Transaction::begin(connection));
  TRY(connection.run("SELECT pg_advisory_xact_lock(?)", {kMigrationLock}));
  const int old = TRY(version_of(connection));
  TRY_STATUS(check_version(place, old));
  if (old == 0) {
    // The schema can exist, empty, if this role must not create one.
    if (!TRY(exists(connection, "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = 'autopilot_history'")))
      TRY(connection.run("CREATE SCHEMA autopilot_history"));
    TRY(connection.run("CREATE TABLE schema_version(version INTEGER NOT NULL)"));
    TRY(connection.run("INSERT INTO schema_version VALUES(0)"));
    TRY(connection.run(kPostgresTable));
  }
  for (int version = old + 1; version <= History::kSchemaVersion; ++version)
    for (const std::string_view statement : kHistoryVersions.at(static_cast<std::size_t>(version - 1)))
      TRY(connection.run(statement));
  TRY(connection.run("UPDATE schema_version SET version = ?", {std::int64_t{History::kSchemaVersion}}));
  TRY_STATUS(transaction.commit());
  return connection.set_statement_limit(kWriteLimit);
}

Result<postgres::Connection> connect(const std::string& place, PostgresUse use) {
  const bool is_reader = use == PostgresUse::read;
  auto connection = TRY(postgres::Connection::open(
      place, {.statement = is_reader ? kQuestionLimit : kWriteLimit, .is_read_only = is_reader}));
  const std::string printable = printable_place(place);
  const auto encoding = TRY(connection.run("SELECT current_setting('server_encoding')")).text(0, 0);
  if (encoding != "UTF8")
    return fail(Errc::unsupported, printable + ": the database has the encoding " + encoding +
                                       "; create one with ENCODING 'UTF8'");
  // Compiling a statement takes longer than most of ours.
  TRY(connection.run(
      "SELECT set_config('search_path', 'autopilot_history', false), set_config('jit', 'off', false)"));
  const int version = TRY(version_of(connection));
  TRY_STATUS(check_version(printable, version));
  if (version == History::kSchemaVersion) return connection;
  if (is_reader && version == 0) return fail(Errc::not_found, printable + ": has no history");
  if (is_reader)
    return fail(
        Errc::unavailable,
        printable + ": the history has an older schema version; an agent of this version migrates it");
  TRY_STATUS(migrate_postgres(connection, printable));
  return connection;
}

class PostgresHistory final : public HistoryDatabase {
 public:
  PostgresHistory(std::string place, PostgresUse use, postgres::Connection connection)
      : connection_string_(std::move(place)),
        place_(printable_place(connection_string_)),
        use_(use),
        connection_(std::move(connection)) {}

  [[nodiscard]] const std::string& place() const override { return place_; }
  [[nodiscard]] bool is_writable() const override { return use_ == PostgresUse::write; }
  [[nodiscard]] Status select(const std::string& sql, const SqlValues& values,
                              const TakeRow& take) const override;
  [[nodiscard]] Status walk(const std::string& sql, const SqlValues& values,
                            const TakeRow& take) const override;
  [[nodiscard]] Status put(const std::vector<SqlValues>& rows) override;
  [[nodiscard]] Result<std::int64_t> remove(const std::string& sql, const SqlValues& values) override;
  [[nodiscard]] std::uint64_t size_bytes() const override { return size_; }
  [[nodiscard]] Status ready() override;
  void rest() override { connection_.close(); }
  [[nodiscard]] Result<WallTime> retention_time(WallTime now) override;
  [[nodiscard]] Status shrink(std::uint64_t bytes) override;
  [[nodiscard]] Status measure();

 private:
  // Connects again if the connection was lost.
  [[nodiscard]] Result<postgres::Connection*> connection() const;
  [[nodiscard]] Status write(const std::vector<SqlValues>& rows);

  std::string connection_string_;
  std::string place_;
  PostgresUse use_;
  mutable postgres::Connection connection_;
  std::uint64_t size_ = 0;
};

Result<postgres::Connection*> PostgresHistory::connection() const {
  if (!connection_.is_usable()) connection_ = TRY(connect(connection_string_, use_));
  return &connection_;
}

Status PostgresHistory::select(const std::string& sql, const SqlValues& values, const TakeRow& take) const {
  postgres::Connection& open = *TRY(connection());
  TRY(open.run(sql, values)).visit(take);
  return {};
}

Status PostgresHistory::walk(const std::string& sql, const SqlValues& values, const TakeRow& take) const {
  postgres::Connection& open = *TRY(connection());
  auto transaction = TRY(postgres::Transaction::begin(open));
  TRY(open.run("DECLARE walk NO SCROLL CURSOR FOR " + sql, values));
  const std::string fetch = "FETCH " + std::to_string(kFetchedRows) + " FROM walk";
  for (bool goes_on = true; goes_on;) {
    const auto answer = TRY(open.run(fetch));
    goes_on = answer.visit(take) && answer.rows() == kFetchedRows;
  }
  return transaction.commit();
}

Status PostgresHistory::ready() {
  TRY(connection());
  return {};
}

Status PostgresHistory::put(const std::vector<SqlValues>& rows) {
  Status written = write(rows);
  // The tables were dropped: the next connection creates them.
  if (!written && written.error().code == Errc::not_found) connection_.close();
  return written;
}

Status PostgresHistory::write(const std::vector<SqlValues>& rows) {
  // One statement must not change a row twice, and writers that change the same rows in one order do not wait
  // for each other in a circle: the last row of each type and id, in their order.
  std::map<std::pair<std::string, std::string>, const SqlValues*> distinct;
  for (const SqlValues& row : rows)
    distinct[{std::get<std::string>(row.at(0)), std::get<std::string>(row.at(1))}] = &row;
  postgres::Connection& open = *TRY(connection());
  auto transaction = TRY(postgres::Transaction::begin(open));
  for (auto next = distinct.begin(); next != distinct.end();) {
    SqlValues values;
    std::size_t count = 0;
    for (; next != distinct.end() && count < kRowsOfStatement; ++next, ++count)
      values.insert(values.end(), next->second->begin(), next->second->end());
    TRY(open.run(put_statement(count), values));
  }
  return transaction.commit();
}

Result<std::int64_t> PostgresHistory::remove(const std::string& sql, const SqlValues& values) {
  postgres::Connection& open = *TRY(connection());
  auto transaction = TRY(postgres::Transaction::begin(open));
  // Of several writers, one deletes.
  const auto lock = TRY(open.run("SELECT pg_try_advisory_xact_lock(?)", {kRetentionLock}));
  if (lock.text(0, 0) != "t") return 0;
  const std::int64_t removed = TRY(open.run(sql, values)).changes();
  TRY_STATUS(transaction.commit());
  return removed;
}

// The clock of one node must not delete the records of all.
Result<WallTime> PostgresHistory::retention_time(WallTime now) {
  postgres::Connection& open = *TRY(connection());
  const auto answer = TRY(open.run("SELECT (extract(epoch FROM now()) * 1000000)::bigint * 1000"));
  return std::min(now, WallTime{Duration{answer.integer(0, 0)}});
}

Status PostgresHistory::shrink(std::uint64_t /*bytes*/) {
  return measure();
}

Status PostgresHistory::measure() {
  postgres::Connection& open = *TRY(connection());
  const auto answer = TRY(open.run("SELECT pg_total_relation_size('records')"));
  size_ = static_cast<std::uint64_t>(answer.integer(0, 0));
  return {};
}

}  // namespace

Result<std::unique_ptr<HistoryDatabase>> open_postgres_history(const std::string& place, PostgresUse use) {
  auto database = std::make_unique<PostgresHistory>(place, use, TRY(connect(place, use)));
  TRY_STATUS(database->measure());
  return database;
}

}  // namespace autopilot::store
