// SPDX-License-Identifier: Apache-2.0
#include "store/history/history.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <span>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <variant>

#include "learning/record_check.hpp"
#include "store/history/history_schema.hpp"
#include "store/history/record_text.hpp"
#include "store/journal.hpp"
#include "store/journal_file.hpp"
#include "store/rows.hpp"
#include "store/sqlite.hpp"

namespace autopilot::store {
namespace {

using learning::HistoryRecord;
using sqlite::Access;
using sqlite::Connection;
using sqlite::Statement;

constexpr std::string_view kPutRecord =
    "INSERT INTO records(type, id, cluster, node, gpu, job, outcome, begin_ns, end_ns, body) "
    "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT(type, id) DO UPDATE SET cluster = excluded.cluster, node = excluded.node, "
    "gpu = excluded.gpu, job = excluded.job, outcome = excluded.outcome, begin_ns = excluded.begin_ns, "
    "end_ns = excluded.end_ns, body = excluded.body";
constexpr std::int64_t kNotOver = std::numeric_limits<std::int64_t>::max();
// Rows that one transaction of retain() deletes: some ten milliseconds of a disk.
constexpr std::int64_t kDeletedAtOnce = 2000;

bool is_history_unusable(const Error& error) {
  return error.code == Errc::malformed || error.code == Errc::unsupported;
}

void bind_record(Statement& put, const HistoryRecord& record) {
  const auto& place = learning::place_of(record);
  const auto end = learning::end_of(record);
  put.bind(1, learning::type_of(record)).bind(2, learning::id_of(record));
  put.bind(3, place.cluster).bind(4, place.node).bind(5, place.gpu);
  put.bind(6, learning::job_of(record)).bind(7, learning::outcome_of(record));
  put.bind(8, to_column(learning::begin_of(record))).bind(9, end ? to_column(*end) : kNotOver);
  put.bind(10, to_text(record));
}

// A statement of conditions that are joined by AND, with the values of its parameters.
class Selection {
 public:
  using Value = std::variant<std::int64_t, std::string>;

  void add(std::string_view condition) {
    sql_ += sql_.empty() ? " WHERE " : " AND ";
    sql_ += condition;
  }
  void add(std::string_view condition, Value value) {
    add(condition);
    values_.push_back(std::move(value));
  }
  void add_types(const std::vector<std::string>& types) {
    if (types.empty()) return;
    std::string condition = "type IN (";
    for (std::size_t i = 0; i < types.size(); ++i)
      condition += i == 0 ? "?" : ", ?";
    add(condition + ")");
    values_.insert(values_.end(), types.begin(), types.end());
  }
  [[nodiscard]] const std::string& sql() const { return sql_; }
  void bind_to(Statement& statement) const {
    for (std::size_t i = 0; i < values_.size(); ++i)
      std::visit([&](const auto& value) { statement.bind(static_cast<int>(i) + 1, value); }, values_[i]);
  }

 private:
  std::string sql_;
  std::vector<Value> values_;
};

Selection selection_of(const HistoryQuery& query) {
  Selection selected;
  if (query.types.size() == 1)
    selected.add("type = ?", query.types.front());
  else
    selected.add_types(query.types);
  if (query.cluster) selected.add("cluster = ?", *query.cluster);
  if (!query.node.empty()) selected.add("node = ?", query.node);
  // The second condition lets the database use the index, which has only rows with a card.
  if (!query.gpu.empty()) selected.add("gpu = ? AND gpu <> ''", query.gpu);
  if (!query.job.empty()) selected.add("job = ? AND job <> ''", query.job);
  if (!query.outcome.empty()) selected.add("outcome = ?", query.outcome);
  if (query.since) selected.add("end_ns >= ?", to_column(*query.since));
  if (query.until) selected.add("begin_ns < ?", to_column(*query.until));
  return selected;
}

std::uint64_t bytes_of(const std::string& path) {
  std::uint64_t bytes = 0;
  for (const char* ending : {"", "-wal"}) {
    std::error_code error;
    const auto size = std::filesystem::file_size(path + ending, error);
    if (!error) bytes += size;
  }
  return bytes;
}

Result<std::int64_t> used_history_bytes(const Connection& connection) {
  const auto pages = TRY(connection.integer("PRAGMA page_count")).value_or(0);
  const auto unused = TRY(connection.integer("PRAGMA freelist_count")).value_or(0);
  return (pages - unused) * TRY(connection.integer("PRAGMA page_size")).value_or(0);
}

// Types of which jobs make many records. Faults, and what people write, stay longer, whatever their age.
constexpr std::array<std::string_view, 4> kEvictedFirst{"job", "measurement", "validation", "versions"};
// By age, at most so much of the oldest time in one call: a clock that is years ahead for a while, which
// makes all records old, costs days and not all of history.
constexpr Duration kMostOfTime = std::chrono::hours{24};

Status delete_history_before(const Connection& connection, std::int64_t begin,
                             std::span<const std::string_view> types) {
  // Portable, and with an index: the rows of one type in the order of their begin.
  auto statement = TRY(connection.prepare(
      "DELETE FROM records WHERE type = ? AND id IN (SELECT id FROM records WHERE type = ? AND begin_ns < ? "
      "ORDER BY begin_ns LIMIT ?)"));
  for (const std::string_view type : types) {
    do {
      statement.bind(1, type).bind(2, type).bind(3, begin).bind(4, kDeletedAtOnce);
      TRY_STATUS(statement.run());
    } while (connection.changes() == kDeletedAtOnce);
  }
  return {};
}

// Begin of the record after the oldest tenth of those types; nullopt: no record.
Result<std::optional<std::int64_t>> end_of_oldest_tenth(const Connection& connection,
                                                        std::span<const std::string_view> types) {
  std::string list;
  for (const std::string_view type : types)
    list.append(list.empty() ? "'" : ", '").append(type).append("'");
  const std::string rows = " FROM records WHERE type IN (" + list + ")";
  return connection.integer("SELECT begin_ns + 1" + rows +
                            " ORDER BY begin_ns LIMIT 1 OFFSET (SELECT count(*) / 10" + rows + ")");
}

Status delete_by_age(const Connection& connection, std::int64_t limit) {
  const auto oldest = TRY(connection.integer("SELECT min(begin_ns) FROM records"));
  if (!oldest || *oldest >= limit) return {};
  const std::int64_t most = Duration{kMostOfTime}.count();
  const bool is_near = limit - *oldest <= most;
  return delete_history_before(connection, is_near ? limit : *oldest + most, learning::kRecordTypes);
}

Status delete_by_size(const Connection& connection, std::int64_t limit) {
  for (const std::span<const std::string_view> types :
       {std::span<const std::string_view>(kEvictedFirst),
        std::span<const std::string_view>(learning::kRecordTypes)})
    while (TRY(used_history_bytes(connection)) > limit) {
      const auto until = TRY(end_of_oldest_tenth(connection, types));
      if (!until) break;
      TRY_STATUS(delete_history_before(connection, *until, types));
    }
  return {};
}

}  // namespace

struct History::Database {
  std::string path;
  bool is_writable = false;
  Connection connection;
  FileIdentity file;
  mutable std::size_t unreadable = 0;

  [[nodiscard]] Result<std::vector<HistoryCount>> counts(Statement& statement) const {
    std::vector<HistoryCount> counts;
    while (TRY(statement.step()))
      counts.push_back({statement.text(0), static_cast<std::uint64_t>(statement.integer(1))});
    return counts;
  }
};

History::History(std::unique_ptr<Database> database) : database_(std::move(database)) {}
History::~History() = default;

Result<History::Opened> History::open(const std::string& path, WallTime now, IfUnusable if_unusable) {
  TRY_STATUS(make_folder_of(path));
  // Held only here: two processes must not move the file aside, or create it, at once.
  auto lock = FileLock::acquire(path + ".lock");
  if (!lock && lock.error().code == Errc::conflict)
    return fail(Errc::unavailable, path + ": another process opens it at this moment");
  if (!lock) return fail(std::move(lock.error()));
  Opened opened;
  auto connection = open_history_for_writing(path, now);
  if (!connection && if_unusable == IfUnusable::move_aside && is_history_unusable(connection.error())) {
    opened.reason = connection.error().what;
    opened.moved_aside = TRY(Journal::move_aside(path, now));
    connection = open_history_for_writing(path, now);
  }
  if (!connection) return fail(std::move(connection.error()));
  opened.history.reset(
      new History(std::make_unique<Database>(path, true, std::move(*connection), identity_of(path))));
  return opened;
}

Result<std::unique_ptr<History>> History::open_read_only(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return fail_errno(errno, path);
  if (!S_ISREG(status.st_mode)) return fail(Errc::malformed, path + ": not a file");
  if (status.st_size == 0) return fail(Errc::not_found, path + ": empty");
  if (::access(path.c_str(), R_OK) != 0) return fail_errno(errno, path);
  auto connection = open_history_for_reading(path, Access::read_only);
  // In a folder where SQLite cannot create its companion files, a file without a log can be read as it is.
  struct stat log {};
  const bool has_log = ::stat((path + "-wal").c_str(), &log) == 0 && log.st_size > 0;
  if (!connection && !is_history_unusable(connection.error()) && !has_log) {
    if (auto as_it_is = open_history_for_reading(path, Access::immutable)) connection = std::move(as_it_is);
  }
  if (!connection) return fail(std::move(connection.error()));
  return std::unique_ptr<History>(
      new History(std::make_unique<Database>(path, false, std::move(*connection), identity_of(path))));
}

const std::string& History::path() const {
  return database_->path;
}

std::size_t History::unreadable_rows() const {
  return database_->unreadable;
}

Status History::put(std::span<const HistoryRecord> records) {
  if (!database_->is_writable) return fail(Errc::denied, database_->path + ": open in read-only mode");
  for (const HistoryRecord& record : records)
    if (const Status valid = learning::check(record); !valid)
      return fail(Errc::conflict, std::string(learning::type_of(record)) + " '" + learning::id_of(record) +
                                      "': " + valid.error().what);
  if (records.empty()) return {};
  // SQLite would continue to write to a file that no longer has a name.
  if (identity_of(database_->path) != database_->file)
    return fail(Errc::malformed, database_->path + ": removed or replaced while in use");
  // Before the log has taken all free space: SQLite truncates it only while the file can still grow.
  if (has_little_room(database_->path, kLogBytes)) static_cast<void>(cut_log(database_->connection));
  auto transaction = TRY(sqlite::Transaction::begin(database_->connection));
  auto put = TRY(database_->connection.prepare(kPutRecord));
  for (const HistoryRecord& record : records) {
    bind_record(put, record);
    TRY_STATUS(put.run());
  }
  return transaction.commit();
}

Status History::visit(const HistoryQuery& query,
                      const std::function<bool(HistoryRecord record)>& take) const {
  const Selection selected = selection_of(query);
  const std::string order =
      query.is_oldest_first ? " ORDER BY begin_ns, type, id" : " ORDER BY begin_ns DESC, type, id";
  auto statement =
      TRY(database_->connection.prepare("SELECT type, body FROM records" + selected.sql() + order));
  selected.bind_to(statement);
  while (TRY(statement.step())) {
    auto record = parse_record(statement.text(0), statement.text(1));
    if (!record)
      ++database_->unreadable;
    else if (!take(std::move(*record)))
      return {};
  }
  return {};
}

Result<std::vector<HistoryRecord>> History::records(const HistoryQuery& query) const {
  const std::size_t limit = std::min(query.limit, kMaxRows);
  std::vector<HistoryRecord> found;
  if (limit == 0) return found;
  TRY_STATUS(visit(query, [&](HistoryRecord record) {
    found.push_back(std::move(record));
    return found.size() < limit;
  }));
  return found;
}

Result<std::vector<HistoryCount>> History::faults_by_class(WallTime since) const {
  auto statement = TRY(database_->connection.prepare(
      "SELECT outcome, count(*) AS faults FROM records WHERE type = 'fault' AND begin_ns >= ? "
      "GROUP BY outcome ORDER BY faults DESC, outcome"));
  statement.bind(1, to_column(since));
  return database_->counts(statement);
}

Result<std::vector<HistoryCount>> History::nodes_with_most_faults(WallTime since, std::size_t limit) const {
  auto statement = TRY(database_->connection.prepare(
      "SELECT node, count(*) AS faults FROM records WHERE type = 'fault' AND begin_ns >= ? "
      "GROUP BY node ORDER BY faults DESC, node LIMIT ?"));
  statement.bind(1, to_column(since)).bind(2, static_cast<std::int64_t>(std::min(limit, kMaxRows)));
  return database_->counts(statement);
}

Result<bool> History::has(std::string_view type, std::string_view id) const {
  auto statement = TRY(database_->connection.prepare("SELECT 1 FROM records WHERE type = ? AND id = ?"));
  statement.bind(1, type).bind(2, id);
  return statement.step();
}

std::uint64_t History::size_bytes() const {
  return bytes_of(database_->path);
}

Result<HistoryStatus> History::status() const {
  HistoryStatus status;
  status.bytes = size_bytes();
  auto counted =
      TRY(database_->connection.prepare("SELECT type, count(*) FROM records GROUP BY type ORDER BY type"));
  status.records = TRY(database_->counts(counted));
  for (const HistoryCount& of : status.records) {
    auto range =
        TRY(database_->connection.prepare("SELECT (SELECT min(begin_ns) FROM records WHERE type = ?), "
                                          "(SELECT max(begin_ns) FROM records WHERE type = ?)"));
    range.bind(1, of.key).bind(2, of.key);
    if (!TRY(range.step())) continue;
    const WallTime oldest{Duration{range.integer(0)}};
    const WallTime newest{Duration{range.integer(1)}};
    status.oldest = std::min(status.oldest.value_or(oldest), oldest);
    status.newest = std::max(status.newest.value_or(newest), newest);
  }
  return status;
}

Status History::retain(const HistoryRetention& retention, WallTime now) {
  if (!database_->is_writable) return fail(Errc::denied, database_->path + ": open in read-only mode");
  auto& connection = database_->connection;
  TRY_STATUS(delete_by_age(connection, to_column(now - retention.age)));
  const auto limit = static_cast<std::int64_t>(
      std::min(retention.bytes, std::uint64_t{std::numeric_limits<std::int64_t>::max()}));
  TRY_STATUS(delete_by_size(connection, limit));
  TRY_STATUS(connection.execute("PRAGMA incremental_vacuum"));
  return cut_log(connection);
}

}  // namespace autopilot::store
