// SPDX-License-Identifier: Apache-2.0
#include "store/rows.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "store/row_text.hpp"

namespace autopilot::store {
namespace {

using sqlite::Connection;

constexpr std::string_view kInsertEvent = "INSERT INTO events(id, time, check_id, body) VALUES(?, ?, ?, ?)";
constexpr std::string_view kLastEventId =
    "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'events'), 0)";
constexpr std::string_view kPutIncident =
    "INSERT INTO incidents(id, opened, closed, body) VALUES(?, ?, ?, ?) "
    "ON CONFLICT DO UPDATE SET opened = excluded.opened, closed = excluded.closed, body = excluded.body";
constexpr std::string_view kPutOperation =
    "INSERT INTO operations(id, created, is_over, body) VALUES(?, ?, ?, ?) "
    "ON CONFLICT DO UPDATE SET created = excluded.created, is_over = excluded.is_over, body = excluded.body";
constexpr std::string_view kPutPassRecord =
    "INSERT INTO pass_records(gpu_uuid, test, time, boot_id, operation) VALUES(?, ?, ?, ?, ?) "
    "ON CONFLICT DO UPDATE SET time = excluded.time, boot_id = excluded.boot_id, "
    "operation = excluded.operation WHERE excluded.time >= time";
constexpr std::string_view kTakePassRecord = "DELETE FROM pass_records WHERE gpu_uuid = ? AND test = ?";
constexpr std::string_view kPutLastSample =
    "INSERT INTO last_samples(check_id, subject_kind, subject_key, name, boot_id, time, body) "
    "VALUES(?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT DO UPDATE SET boot_id = excluded.boot_id, time = excluded.time, body = excluded.body";
constexpr std::string_view kInsertFinding =
    "INSERT INTO findings(check_id, boot_id, state, body) VALUES(?, ?, ?, ?)";
constexpr std::string_view kPutFact =
    "INSERT INTO facts(name, value) VALUES(?, ?) ON CONFLICT DO UPDATE SET value = excluded.value";

Result<std::vector<std::uint64_t>> write_events(Connection& connection, const std::vector<Event>& events) {
  std::vector<std::uint64_t> ids;
  if (events.empty()) return ids;
  auto last = static_cast<std::uint64_t>(TRY(connection.integer(kLastEventId)).value_or(0));
  auto insert = TRY(connection.prepare(kInsertEvent));
  for (const auto& event : events) {
    const std::uint64_t id = event.id == 0 ? last + 1 : event.id;
    if (id > Journal::kMaxEventId)
      return fail(Errc::conflict, "event id " + std::to_string(id) + " is too large");
    insert.bind(1, static_cast<std::int64_t>(id)).bind(2, to_column(event.time)).bind(3, event.check);
    insert.bind(4, to_text(event));
    TRY_STATUS(insert.run());
    last = std::max(last, id);
    ids.push_back(id);
  }
  return ids;
}

Status write_incidents(Connection& connection, const std::vector<Incident>& incidents) {
  if (incidents.empty()) return {};
  auto put = TRY(connection.prepare(kPutIncident));
  for (const auto& incident : incidents) {
    put.bind(1, incident.id).bind(2, to_column(incident.opened)).bind(4, to_text(incident));
    if (incident.state == IncidentState::closed) {
      put.bind(3, to_column(incident.closed.value_or(incident.updated)));
    } else {
      put.bind_null(3);
    }
    TRY_STATUS(put.run());
  }
  return {};
}

Status write_operations(Connection& connection, const std::vector<Operation>& operations) {
  if (operations.empty()) return {};
  auto put = TRY(connection.prepare(kPutOperation));
  for (const auto& operation : operations) {
    put.bind(1, operation.id).bind(2, to_column(operation.created));
    put.bind(3, std::int64_t{operation.is_over()}).bind(4, to_text(operation));
    TRY_STATUS(put.run());
  }
  return {};
}

Status write_pass_records(Connection& connection, const std::vector<PassRecord>& records) {
  if (records.empty()) return {};
  auto put = TRY(connection.prepare(kPutPassRecord));
  auto take = TRY(connection.prepare(kTakePassRecord));
  for (const auto& record : records) {
    if (record.time == WallTime{}) {
      take.bind(1, record.gpu_uuid).bind(2, record.test);
      TRY_STATUS(take.run());
      continue;
    }
    put.bind(1, record.gpu_uuid).bind(2, record.test).bind(3, to_column(record.time));
    put.bind(4, record.boot_id).bind(5, record.operation);
    TRY_STATUS(put.run());
  }
  return {};
}

Status write_last_samples(Connection& connection, const std::vector<LastSample>& samples) {
  if (samples.empty()) return {};
  auto put = TRY(connection.prepare(kPutLastSample));
  for (const auto& sample : samples) {
    const auto& observation = sample.observation;
    put.bind(1, sample.check).bind(2, to_string(observation.subject.kind)).bind(3, observation.subject.key);
    put.bind(4, observation.name).bind(5, sample.boot_id).bind(6, to_column(observation.time.wall));
    put.bind(7, to_text(observation));
    TRY_STATUS(put.run());
  }
  return {};
}

Status replace_findings(Connection& connection, const std::vector<StoredFinding>& findings) {
  TRY_STATUS(connection.execute("DELETE FROM findings"));
  auto insert = TRY(connection.prepare(kInsertFinding));
  for (const auto& stored : findings) {
    insert.bind(1, stored.check).bind(2, stored.boot_id).bind(3, stored.state);
    insert.bind(4, to_text(stored.finding));
    TRY_STATUS(insert.run());
  }
  return {};
}

Status write_facts(Connection& connection, const std::vector<std::pair<std::string, std::string>>& values) {
  if (values.empty()) return {};
  auto put = TRY(connection.prepare(kPutFact));
  for (const auto& [name, value] : values) {
    put.bind(1, name).bind(2, std::string_view(value).substr(0, Journal::kMaxValueBytes));
    TRY_STATUS(put.run());
  }
  return {};
}

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

Result<std::vector<std::uint64_t>> write_rows(Connection& connection, const Batch& batch) {
  auto ids = TRY(write_events(connection, batch.events));
  TRY_STATUS(write_incidents(connection, batch.incidents));
  TRY_STATUS(write_operations(connection, batch.operations));
  TRY_STATUS(write_pass_records(connection, batch.pass_records));
  TRY_STATUS(write_last_samples(connection, batch.last_samples));
  if (batch.findings) TRY_STATUS(replace_findings(connection, *batch.findings));
  TRY_STATUS(write_facts(connection, batch.values));
  return ids;
}

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
