// SPDX-License-Identifier: Apache-2.0
#include "store/schema.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/parse.hpp"
#include "core/stable_hash.hpp"
#include "store/journal.hpp"

namespace autopilot::store {
namespace {

// Times are nanoseconds since 1970, UTC. `body` is a JSON object; the other columns serve queries.
constexpr std::string_view kVersion1 = R"sql(
CREATE TABLE events(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  time INTEGER NOT NULL,
  check_id TEXT NOT NULL,
  body TEXT NOT NULL
) STRICT;
CREATE INDEX events_by_time ON events(time);
CREATE TABLE incidents(
  id TEXT NOT NULL PRIMARY KEY,
  opened INTEGER NOT NULL,
  closed INTEGER,
  body TEXT NOT NULL
) STRICT;
CREATE TABLE operations(
  id TEXT NOT NULL PRIMARY KEY,
  created INTEGER NOT NULL,
  is_over INTEGER NOT NULL,
  body TEXT NOT NULL
) STRICT;
CREATE TABLE pass_records(
  gpu_uuid TEXT NOT NULL,
  test TEXT NOT NULL,
  time INTEGER NOT NULL,
  boot_id TEXT NOT NULL,
  operation TEXT NOT NULL,
  PRIMARY KEY(gpu_uuid, test)
) STRICT, WITHOUT ROWID;
CREATE TABLE roll_ups(
  check_id TEXT NOT NULL,
  subject_kind TEXT NOT NULL,
  subject_key TEXT NOT NULL,
  name TEXT NOT NULL,
  hour INTEGER NOT NULL,
  uuid TEXT NOT NULL,
  serial TEXT NOT NULL,
  min REAL NOT NULL,
  max REAL NOT NULL,
  sum REAL NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY(check_id, hour, subject_kind, subject_key, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE last_samples(
  check_id TEXT NOT NULL,
  subject_kind TEXT NOT NULL,
  subject_key TEXT NOT NULL,
  name TEXT NOT NULL,
  boot_id TEXT NOT NULL,
  time INTEGER NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY(check_id, subject_kind, subject_key, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE findings(
  position INTEGER PRIMARY KEY,
  check_id TEXT NOT NULL,
  boot_id TEXT NOT NULL,
  state TEXT NOT NULL,
  body TEXT NOT NULL
) STRICT;
CREATE TABLE facts(
  name TEXT NOT NULL PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
)sql";

constexpr std::string_view kVersion2 = "DROP TABLE roll_ups";

constexpr std::int64_t kWholeCheckBytes = std::int64_t{16} << 20;

Status quick_check(const sqlite::Connection& connection, const std::string& argument) {
  const auto answer = TRY(connection.text("PRAGMA quick_check(" + argument + ")"));
  if (answer == "ok") return {};
  return fail(Errc::malformed, "integrity check: " + answer.value_or("no result").substr(0, 200));
}

Result<std::vector<std::string>> schema_of(const sqlite::Connection& connection) {
  auto statement = TRY(connection.prepare(
      "SELECT type || ' ' || name || ': ' || coalesce(sql, '') AS entry FROM sqlite_schema ORDER BY entry"));
  std::vector<std::string> entries;
  while (TRY(statement.step()))
    entries.push_back(statement.text(0));
  return entries;
}

using sqlite::Connection;

constexpr std::string_view kCommits = "journal.commits";
constexpr std::string_view kSum = "journal.sum";
constexpr std::string_view kPutOwnFact =
    "INSERT INTO facts(name, value) VALUES(?, ?) ON CONFLICT DO UPDATE SET value = excluded.value";
constexpr std::string_view kOwnFact = "SELECT value FROM facts WHERE name = ?";

struct Summed {
  std::string_view sql;
  int columns;
};
constexpr std::array<Summed, 3> kSummed{{
    {"SELECT check_id, boot_id, state, body FROM findings ORDER BY position", 4},
    {"SELECT id, opened, body FROM incidents WHERE closed IS NULL ORDER BY id", 3},
    {"SELECT name, value FROM facts WHERE name NOT IN ('journal.commits', 'journal.sum') ORDER BY name", 2},
}};

Result<std::string> sum_of(const Connection& connection) {
  StableHash sum;
  for (const auto& [sql, columns] : kSummed) {
    auto statement = TRY(connection.prepare(sql));
    while (TRY(statement.step()))
      for (int column = 0; column < columns; ++column)
        sum.add_part(statement.text(column));
    sum.add_part("");
  }
  return std::to_string(sum.value());
}

Result<std::optional<std::string>> own_fact(const Connection& connection, std::string_view name) {
  auto statement = TRY(connection.prepare(kOwnFact));
  statement.bind(1, name);
  if (!TRY(statement.step())) return std::nullopt;
  return statement.text(0);
}

Status put_own_fact(const Connection& connection, std::string_view name, std::string_view value) {
  auto put = TRY(connection.prepare(kPutOwnFact));
  put.bind(1, name).bind(2, value);
  return put.run();
}

}  // namespace

std::span<const Migration> migrations() {
  static constexpr std::array<Migration, Journal::kSchemaVersion> kMigrations{
      {Migration{1, kVersion1}, Migration{2, kVersion2}}};
  return kMigrations;
}

Result<FileKind> kind_of(const sqlite::Connection& connection) {
  const auto application = TRY(connection.integer("PRAGMA application_id"));
  const auto version = TRY(connection.integer("PRAGMA user_version"));
  const auto tables = connection.integer("SELECT count(*) FROM sqlite_schema");
  // Every database answers this query: if SQLite rejects it as invalid, the file is damaged.
  if (!tables && tables.error().code == Errc::internal) return fail(Errc::malformed, tables.error().what);
  if (!tables) return fail(tables.error());
  FileKind kind;
  kind.is_empty = application == 0 && version == 0 && *tables == 0;
  kind.is_journal = application == kApplicationId;
  kind.version = static_cast<int>(version.value_or(0));
  return kind;
}

Status migrate(sqlite::Connection& connection, std::span<const Migration> steps) {
  for (const auto& step : steps) {
    // Read inside the transaction: another process can have migrated meanwhile.
    auto transaction = TRY(sqlite::Transaction::begin(connection));
    const auto kind = TRY(kind_of(connection));
    if (kind.version >= step.version) continue;
    if (kind.version != step.version - 1)
      return fail(Errc::internal, "no migration from journal version " + std::to_string(kind.version) +
                                      " to " + std::to_string(step.version));
    TRY_STATUS(connection.execute(std::string(step.sql)));
    TRY_STATUS(connection.execute("PRAGMA application_id=" + std::to_string(kApplicationId)));
    TRY_STATUS(connection.execute("PRAGMA user_version=" + std::to_string(step.version)));
    TRY_STATUS(transaction.commit());
  }
  return {};
}

Status check_integrity(const sqlite::Connection& connection) {
  const auto pages = TRY(connection.integer("PRAGMA page_count"));
  const auto page_size = TRY(connection.integer("PRAGMA page_size"));
  if (pages.value_or(0) * page_size.value_or(0) <= kWholeCheckBytes) return quick_check(connection, "1");
  for (const auto* table : {"findings", "facts", "incidents", "operations", "pass_records"})
    TRY_STATUS(quick_check(connection, table));
  return {};
}

Status check_schema(const sqlite::Connection& connection, std::span<const Migration> steps) {
  auto model = TRY(sqlite::Connection::open(":memory:", sqlite::Access::read_write));
  TRY_STATUS(migrate(model, steps));
  const auto found = TRY(schema_of(connection));
  for (const auto& entry : TRY(schema_of(model)))
    if (!std::ranges::binary_search(found, entry))
      return fail(Errc::malformed, "damaged or missing schema entry: " + entry.substr(0, entry.find(':')));
  return {};
}

Status check_numbering(const sqlite::Connection& connection) {
  const auto last_given = TRY(connection.integer("SELECT seq FROM sqlite_sequence WHERE name = 'events'"));
  const auto last_kept = TRY(connection.integer("SELECT max(id) FROM events"));
  if (last_kept.value_or(0) <= last_given.value_or(0) &&
      last_given.value_or(0) < static_cast<std::int64_t>(Journal::kMaxEventId))
    return {};
  return fail(Errc::malformed, "the last assigned event id is " + std::to_string(last_given.value_or(0)) +
                                   ", the last stored one is " + std::to_string(last_kept.value_or(0)));
}

Status write_seal(Connection& connection, const Batch& batch, std::uint64_t commits) {
  TRY_STATUS(put_own_fact(connection, kCommits, std::to_string(commits)));
  if (!batch.findings && batch.incidents.empty() && batch.values.empty()) return {};
  return put_own_fact(connection, kSum, TRY(sum_of(connection)));
}

Result<std::uint64_t> commits_of(const Connection& connection) {
  const auto text = TRY(own_fact(connection, kCommits));
  if (!text) return std::uint64_t{0};
  const auto commits = parse_number<std::uint64_t>(*text);
  if (!commits) return fail(Errc::malformed, "invalid number of commits: \"" + *text + "\"");
  return *commits;
}

Status check_sum(const Connection& connection) {
  const auto written = TRY(own_fact(connection, kSum));
  if (!written || *written == TRY(sum_of(connection))) return {};
  return fail(Errc::malformed, "the checksum does not match: rows changed after they were written");
}

}  // namespace autopilot::store
