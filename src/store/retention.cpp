// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string>

#include "store/rows.hpp"

namespace autopilot::store {
namespace {

using sqlite::Connection;

// Rows per transaction: other work of the writer waits at most for these.
constexpr std::int64_t kChunk = 5000;
// For a full disk: a deletion needs space in the log before it frees any, so only few rows and pages fit at
// once.
constexpr std::int64_t kSmallChunk = 32;

// Tables whose rows expire, by their own time; open incidents, unfinished operations and held findings do not
// expire.
struct Ageing {
  std::string_view table;
  std::string_view row;   // columns that identify a row in a subquery
  std::string_view time;  // column of its time
  std::string_view only;  // condition for rows that can be deleted
};
constexpr std::array<Ageing, 5> kAgeing{{
    {"events", "rowid", "time", "true"},
    {"incidents", "rowid", "closed", "closed IS NOT NULL"},
    {"operations", "rowid", "created", "is_over"},
    {"pass_records", "gpu_uuid, test", "time", "true"},
    {"last_samples", "check_id, subject_kind, subject_key, name", "time", "true"},
}};

Status delete_until(Connection& connection, const Ageing& ageing, std::int64_t time) {
  const std::string row{ageing.row};
  const std::string sql = "DELETE FROM " + std::string(ageing.table) + " WHERE (" + row + ") IN (SELECT " +
                          row + " FROM " + std::string(ageing.table) + " WHERE " + std::string(ageing.only) +
                          " AND " + std::string(ageing.time) + " <= ? LIMIT ?)";
  auto statement = TRY(connection.prepare(sql));
  std::int64_t chunk = kChunk;
  do {
    statement.bind(1, time).bind(2, chunk);
    Status done = statement.run();
    if (!done && done.error().code == Errc::exhausted && chunk > kSmallChunk) {
      chunk = kSmallChunk;
      TRY_STATUS(cut_log(connection));
      statement.bind(1, time).bind(2, chunk);
      done = statement.run();
    }
    TRY_STATUS(done);
    if (chunk == kSmallChunk) TRY_STATUS(cut_log(connection));
  } while (connection.changes() == chunk);
  return {};
}

// Returns the free pages to the file system.
Status shrink(Connection& connection) {
  const Status done = connection.execute("PRAGMA incremental_vacuum");
  if (done || done.error().code != Errc::exhausted) {
    TRY_STATUS(done);
    return cut_log(connection);
  }
  const std::string few = "PRAGMA incremental_vacuum(" + std::to_string(kSmallChunk) + ")";
  for (std::int64_t before = INT64_MAX;;) {
    TRY_STATUS(cut_log(connection));
    const auto left = TRY(connection.integer("PRAGMA freelist_count")).value_or(0);
    if (left == 0 || left >= before) return {};
    before = left;
    TRY_STATUS(connection.execute(few));
  }
}

// Bytes of the file after its free pages are returned.
Result<std::int64_t> used_bytes(const Connection& connection) {
  const auto pages = TRY(connection.integer("PRAGMA page_count")).value_or(0);
  const auto free_pages = TRY(connection.integer("PRAGMA freelist_count")).value_or(0);
  const auto page_size = TRY(connection.integer("PRAGMA page_size")).value_or(0);
  return (pages - free_pages) * page_size;
}

// The newest time within the oldest tenth of the table that has the oldest row.
Result<std::optional<std::int64_t>> oldest_tenth(const Connection& connection) {
  const Ageing* oldest = nullptr;
  std::int64_t oldest_time = 0;
  for (const auto& ageing : kAgeing) {
    const auto rows = TRY(connection.integer("SELECT count(*) FROM " + std::string(ageing.table) + " WHERE " +
                                             std::string(ageing.only)));
    if (rows.value_or(0) == 0) continue;
    const auto time =
        TRY(connection.integer("SELECT min(" + std::string(ageing.time) + ") FROM " +
                               std::string(ageing.table) + " WHERE " + std::string(ageing.only)));
    if (oldest != nullptr && time.value_or(0) >= oldest_time) continue;
    oldest = &ageing;
    oldest_time = time.value_or(0);
  }
  if (oldest == nullptr) return std::nullopt;
  const std::string from_where =
      " FROM " + std::string(oldest->table) + " WHERE " + std::string(oldest->only);
  const auto rows = TRY(connection.integer("SELECT count(*)" + from_where)).value_or(0);
  const std::string time{oldest->time};
  return TRY(connection.integer("SELECT " + time + from_where + " ORDER BY " + time + " LIMIT 1 OFFSET " +
                                std::to_string(std::min(rows - 1, rows / 10))));
}

// What is left of the limit once the log has its room.
std::int64_t limit_of_file(const Retention& retention) {
  const auto limit = static_cast<std::int64_t>(std::min<std::uint64_t>(retention.bytes, INT64_MAX));
  return limit - std::min(limit / 2, kLogBytes);
}

}  // namespace

Status cut_log(Connection& connection) {
  return connection.execute("PRAGMA wal_checkpoint(TRUNCATE)");
}

Status delete_expired(Connection& connection, const Retention& retention, WallTime now) {
  for (const auto& ageing : kAgeing)
    TRY_STATUS(delete_until(connection, ageing, to_column(now - retention.age) - 1));
  const std::int64_t limit = limit_of_file(retention);
  while (TRY(used_bytes(connection)) > limit) {
    const auto until = TRY(oldest_tenth(connection));
    if (!until) break;
    for (const auto& ageing : kAgeing)
      TRY_STATUS(delete_until(connection, ageing, *until));
  }
  return shrink(connection);
}

}  // namespace autopilot::store
