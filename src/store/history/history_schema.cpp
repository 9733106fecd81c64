// SPDX-License-Identifier: Apache-2.0
#include "store/history/history_schema.hpp"

#include <cerrno>
#include <string>
#include <string_view>
#include <unistd.h>

#include "store/history/history.hpp"
#include "store/history/history_versions.hpp"
#include "store/journal_file.hpp"
#include "store/rows.hpp"

namespace autopilot::store {
namespace {

using sqlite::Access;
using sqlite::Connection;

// In the file's header, so that the database of another program is not used as history: "APhi".
constexpr std::int64_t kHistoryApplication = 0x41506869;

// Times are nanoseconds since 1970, UTC; end_ns is the largest integer while the record is not over. `body`
// is a JSON object; the other columns serve queries. Every column is NOT NULL: an empty text is unknown.
constexpr const char* kHistoryTable = R"sql(
CREATE TABLE records(
  type TEXT NOT NULL,
  id TEXT NOT NULL,
  cluster TEXT NOT NULL,
  node TEXT NOT NULL,
  gpu TEXT NOT NULL,
  job TEXT NOT NULL,
  outcome TEXT NOT NULL,
  begin_ns INTEGER NOT NULL,
  end_ns INTEGER NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY(type, id)
) STRICT;
)sql";

constexpr const char* kHistoryWriter =
    "PRAGMA synchronous=FULL; PRAGMA temp_store=MEMORY; PRAGMA cache_size=-2048; PRAGMA trusted_schema=OFF; "
    "PRAGMA cell_size_check=ON";
constexpr const char* kHistoryReader =
    "PRAGMA query_only=ON; PRAGMA temp_store=MEMORY; PRAGMA cache_size=-2048; PRAGMA trusted_schema=OFF; "
    "PRAGMA cell_size_check=ON";
// Beyond this size, checking each page at every start takes seconds.
constexpr std::int64_t kWholeHistoryCheckBytes = std::int64_t{16} << 20;

struct HistoryKind {
  bool is_empty = false;
  bool is_history = false;
  int version = 0;
};

Result<HistoryKind> history_kind_of(const Connection& connection) {
  const auto application = TRY(connection.integer("PRAGMA application_id"));
  const auto version = TRY(connection.integer("PRAGMA user_version"));
  const auto tables = connection.integer("SELECT count(*) FROM sqlite_schema");
  // Every database answers this query: if SQLite rejects it as invalid, the file is damaged.
  if (!tables && tables.error().code == Errc::internal) return fail(Errc::malformed, tables.error().what);
  if (!tables) return fail(tables.error());
  HistoryKind kind;
  kind.is_empty = application == 0 && version == 0 && *tables == 0;
  kind.is_history = application == kHistoryApplication;
  kind.version = static_cast<int>(version.value_or(0));
  return kind;
}

// Each version in a transaction of its own; another process can have migrated meanwhile.
Status migrate_history(Connection& connection) {
  for (int version = 1; version <= History::kSchemaVersion; ++version) {
    auto transaction = TRY(sqlite::Transaction::begin(connection));
    if (TRY(history_kind_of(connection)).version >= version) continue;
    if (version == 1) TRY_STATUS(connection.execute(kHistoryTable));
    for (const std::string_view statement : kHistoryVersions.at(static_cast<std::size_t>(version - 1)))
      TRY_STATUS(connection.execute(std::string(statement)));
    TRY_STATUS(connection.execute("PRAGMA application_id=" + std::to_string(kHistoryApplication)));
    TRY_STATUS(connection.execute("PRAGMA user_version=" + std::to_string(version)));
    TRY_STATUS(transaction.commit());
  }
  return {};
}

Status check_kind(const std::string& path, const HistoryKind& kind) {
  if (!kind.is_empty && !kind.is_history)
    return fail(Errc::malformed, path + ": the database belongs to another program");
  if (kind.version > History::kSchemaVersion)
    return fail(Errc::unsupported, path + ": the history has the newer schema version " +
                                       std::to_string(kind.version) + "; use a newer autopilot");
  return {};
}

Status check_history(const Connection& connection) {
  const auto pages = TRY(connection.integer("PRAGMA page_count")).value_or(0);
  const auto page_size = TRY(connection.integer("PRAGMA page_size")).value_or(0);
  if (pages * page_size <= kWholeHistoryCheckBytes) {
    const auto answer = TRY(connection.text("PRAGMA quick_check(1)"));
    if (answer != "ok")
      return fail(Errc::malformed, "integrity check: " + answer.value_or("no result").substr(0, 200));
  }
  const auto statement = connection.prepare(
      "SELECT type, id, cluster, node, gpu, job, outcome, begin_ns, end_ns, body FROM records");
  if (!statement) return fail(Errc::malformed, "damaged or missing table: " + statement.error().what);
  return {};
}

}  // namespace

Result<Connection> open_history_for_writing(const std::string& path, WallTime now) {
  TRY_STATUS(make_file(path, now));
  auto connection = TRY(Connection::open(path, Access::read_write));
  const auto kind = TRY(history_kind_of(connection));
  TRY_STATUS(check_kind(path, kind));
  // Takes effect only before the first page is written, which switching to WAL mode does.
  if (kind.is_empty) TRY_STATUS(connection.execute("PRAGMA auto_vacuum=INCREMENTAL"));
  TRY_STATUS(connection.execute(kHistoryWriter));
  if (TRY(connection.text("PRAGMA journal_mode=WAL")) != "wal")
    return fail(Errc::unavailable, path + ": this file system does not support a write-ahead log");
  TRY_STATUS(connection.execute("PRAGMA journal_size_limit=" + std::to_string(kLogBytes)));
  TRY_STATUS(migrate_history(connection));
  TRY_STATUS(check_history(connection));
  if (!connection.is_read_only()) return connection;
  if (::access(path.c_str(), W_OK) != 0) return fail_errno(errno, path);
  return fail(Errc::malformed, path + ": its header forbids writing");
}

Result<Connection> open_history_for_reading(const std::string& path, Access access) {
  auto connection = TRY(Connection::open(path, access));
  const auto kind = TRY(history_kind_of(connection));
  if (kind.is_empty) return fail(Errc::not_found, path + ": empty");
  TRY_STATUS(check_kind(path, kind));
  if (kind.version < History::kSchemaVersion)
    return fail(Errc::unavailable,
                path + ": the history has an older schema version; an agent of this version migrates it");
  TRY_STATUS(connection.execute(kHistoryReader));
  return connection;
}

}  // namespace autopilot::store
