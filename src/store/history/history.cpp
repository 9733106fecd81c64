// SPDX-License-Identifier: Apache-2.0
#include "store/history/history.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "core/database_place.hpp"
#include "core/parse.hpp"
#include "learning/record_check.hpp"
#include "store/history/history_database.hpp"
#include "store/history/history_postgres.hpp"
#include "store/history/history_sqlite.hpp"
#include "store/history/record_text.hpp"
#include "store/rows.hpp"

namespace autopilot::store {
namespace {

using learning::HistoryRecord;

constexpr std::int64_t kNotOver = std::numeric_limits<std::int64_t>::max();
// Rows that one transaction of retain() deletes: some ten milliseconds of a disk.
constexpr std::int64_t kDeletedAtOnce = 2000;
// By age, at most so much of the oldest time in one call: a clock that is years ahead for a while, which
// makes all records old, costs days and not all of history.
constexpr Duration kMostOfTime = std::chrono::hours{24};
// Rows that a query with a limit reads beyond it, in case some are damaged.
constexpr std::size_t kSpareRows = 16;

// In the order of HistoryDatabase::kColumns.
SqlValues row_of(const HistoryRecord& record) {
  const auto& place = learning::place_of(record);
  const auto end = learning::end_of(record);
  return {std::string(learning::type_of(record)),
          learning::id_of(record),
          place.cluster,
          place.node,
          place.gpu,
          std::string(learning::job_of(record)),
          std::string(learning::outcome_of(record)),
          to_column(learning::begin_of(record)),
          end ? to_column(*end) : kNotOver,
          to_text(record)};
}

// Conditions that are joined by AND, with the values of their parameters.
struct Selection {
  std::string sql;
  SqlValues values;

  void add(std::string_view condition) {
    sql += sql.empty() ? " WHERE " : " AND ";
    sql += condition;
  }
  void add(std::string_view condition, SqlValue value) {
    add(condition);
    values.push_back(std::move(value));
  }
  void add_types(const std::vector<std::string>& types) {
    if (types.empty()) return;
    std::string condition = "type IN (";
    for (std::size_t i = 0; i < types.size(); ++i)
      condition += i == 0 ? "?" : ", ?";
    add(condition + ")");
    values.insert(values.end(), types.begin(), types.end());
  }
};

Selection selection_of(const HistoryQuery& query) {
  Selection selected;
  if (query.types.size() == 1)
    selected.add("type = ?", query.types.front());
  else
    selected.add_types(query.types);
  if (!query.id.empty()) selected.add("id = ?", query.id);
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

// No record has such a text, and not every database takes it as a value.
bool is_storable(const SqlValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text == nullptr || (text->find('\0') == std::string::npos && to_utf8(*text) == *text);
}

Status delete_by_age(HistoryDatabase& database, std::int64_t limit) {
  const auto oldest = TRY(oldest_begin(database));
  if (!oldest || *oldest >= limit) return {};
  const std::int64_t most = Duration{kMostOfTime}.count();
  const bool is_near = limit - *oldest <= most;
  return delete_history_before(database, is_near ? limit : *oldest + most, learning::kRecordTypes);
}

Result<std::vector<HistoryCount>> counts_of(const HistoryDatabase& database, const std::string& sql,
                                            const SqlValues& values) {
  std::vector<HistoryCount> counts;
  TRY_STATUS(database.select(sql, values, [&counts](const SqlRow& row) {
    counts.push_back({row.text(0), static_cast<std::uint64_t>(row.integer(1))});
    return true;
  }));
  return counts;
}

Status fail_read_only(const HistoryDatabase& database) {
  return fail(Errc::denied, database.place() + ": open in read-only mode");
}

struct BeginRange {
  std::int64_t oldest = 0, newest = 0;
};

// Of one type, from an index. nullopt: no record.
Result<std::optional<BeginRange>> begins_of(const HistoryDatabase& database, std::string_view type) {
  std::optional<BeginRange> range;
  TRY_STATUS(
      database.select("SELECT first.begin_ns, last.begin_ns FROM "
                      "(SELECT begin_ns FROM records WHERE type = ? ORDER BY begin_ns LIMIT 1) AS first, "
                      "(SELECT begin_ns FROM records WHERE type = ? ORDER BY begin_ns DESC LIMIT 1) AS last",
                      {std::string(type), std::string(type)}, [&range](const SqlRow& row) {
                        range = BeginRange{row.integer(0), row.integer(1)};
                        return false;
                      }));
  return range;
}

}  // namespace

Status delete_history_before(HistoryDatabase& database, std::int64_t begin,
                             std::span<const std::string_view> types) {
  for (const std::string_view type : types) {
    const std::string name(type);
    // With an index: the rows of one type in the order of their begin.
    while (TRY(database.remove("DELETE FROM records WHERE type = ? AND id IN (SELECT id FROM records WHERE "
                               "type = ? AND begin_ns < ? ORDER BY begin_ns LIMIT ?)",
                               {name, name, begin, kDeletedAtOnce})) == kDeletedAtOnce) {
    }
  }
  return {};
}

Result<std::optional<std::int64_t>> oldest_begin(const HistoryDatabase& database) {
  std::optional<std::int64_t> oldest;
  for (const std::string_view type : learning::kRecordTypes)
    if (const auto range = TRY(begins_of(database, type)))
      oldest = std::min(oldest.value_or(range->oldest), range->oldest);
  return oldest;
}

History::History(std::unique_ptr<HistoryDatabase> database) : database_(std::move(database)) {}
History::~History() = default;

Result<History::Opened> History::open(const std::string& place, WallTime now, IfUnusable if_unusable) {
  Opened opened;
  if (is_postgres(place)) {
    auto database = TRY(open_postgres_history(place, PostgresUse::write));
    opened.history.reset(new History(std::move(database)));
    return opened;
  }
  auto file = TRY(open_history_file(place, now, if_unusable == IfUnusable::move_aside));
  opened.history.reset(new History(std::move(file.database)));
  opened.moved_aside = std::move(file.moved_aside);
  opened.reason = std::move(file.reason);
  return opened;
}

Result<std::unique_ptr<History>> History::open_read_only(const std::string& place) {
  auto database = TRY(is_postgres(place) ? open_postgres_history(place, PostgresUse::read)
                                         : open_history_file_read_only(place));
  return std::unique_ptr<History>(new History(std::move(database)));
}

const std::string& History::place() const {
  return database_->place();
}

std::size_t History::unreadable_rows() const {
  return unreadable_;
}

Status History::put(std::span<const HistoryRecord> records) {
  if (!database_->is_writable()) return fail_read_only(*database_);
  std::vector<SqlValues> rows;
  for (const HistoryRecord& record : records) {
    if (const Status valid = learning::check(record); !valid)
      return fail(Errc::conflict, std::string(learning::type_of(record)) + " '" + learning::id_of(record) +
                                      "': " + valid.error().what);
    rows.push_back(row_of(record));
  }
  if (rows.empty()) return {};
  return database_->put(rows);
}

Status History::read(const HistoryQuery& query, std::optional<std::size_t> limit,
                     const std::function<bool(HistoryRecord record)>& take) const {
  Selection selected = selection_of(query);
  if (!std::ranges::all_of(selected.values, is_storable)) return {};
  std::string sql =
      "SELECT type, body FROM records" + selected.sql +
      (query.is_oldest_first ? " ORDER BY begin_ns, type, id" : " ORDER BY begin_ns DESC, type, id");
  if (limit) {
    sql += " LIMIT ?";
    selected.values.emplace_back(static_cast<std::int64_t>(*limit));
  }
  return database_->walk(sql, selected.values, [&](const SqlRow& row) {
    auto record = parse_record(row.text(0), row.text(1));
    if (record) return take(std::move(*record));
    ++unreadable_;
    return true;
  });
}

Status History::visit(const HistoryQuery& query,
                      const std::function<bool(HistoryRecord record)>& take) const {
  return read(query, std::nullopt, take);
}

Result<std::vector<HistoryRecord>> History::records(const HistoryQuery& query) const {
  const std::size_t limit = std::min(query.limit, kMaxRows);
  std::vector<HistoryRecord> found;
  if (limit == 0) return found;
  TRY_STATUS(read(query, limit + kSpareRows, [&](HistoryRecord record) {
    found.push_back(std::move(record));
    return found.size() < limit;
  }));
  return found;
}

Result<std::vector<HistoryCount>> History::faults_by_class(WallTime since) const {
  return counts_of(*database_,
                   "SELECT outcome, count(*) AS faults FROM records WHERE type = 'fault' AND begin_ns >= ? "
                   "GROUP BY outcome ORDER BY faults DESC, outcome",
                   {to_column(since)});
}

Result<std::vector<HistoryCount>> History::nodes_with_most_faults(WallTime since, std::size_t limit) const {
  return counts_of(*database_,
                   "SELECT node, count(*) AS faults FROM records WHERE type = 'fault' AND begin_ns >= ? "
                   "GROUP BY node ORDER BY faults DESC, node LIMIT ?",
                   {to_column(since), static_cast<std::int64_t>(std::min(limit, kMaxRows))});
}

Result<bool> History::has(std::string_view type, std::string_view id) const {
  const SqlValues values{std::string(type), std::string(id)};
  bool is_there = false;
  if (!std::ranges::all_of(values, is_storable)) return is_there;
  TRY_STATUS(database_->select("SELECT 1 FROM records WHERE type = ? AND id = ?", values,
                               [&is_there](const SqlRow&) { return !(is_there = true); }));
  return is_there;
}

std::uint64_t History::size_bytes() const {
  return database_->size_bytes();
}

Result<HistoryStatus> History::status() const {
  HistoryStatus status;
  status.bytes = size_bytes();
  status.records =
      TRY(counts_of(*database_, "SELECT type, count(*) FROM records GROUP BY type ORDER BY type", {}));
  for (const HistoryCount& of : status.records) {
    const auto range = TRY(begins_of(*database_, of.key));
    if (!range) continue;
    const WallTime oldest{Duration{range->oldest}};
    const WallTime newest{Duration{range->newest}};
    status.oldest = std::min(status.oldest.value_or(oldest), oldest);
    status.newest = std::max(status.newest.value_or(newest), newest);
  }
  return status;
}

Status History::ready() {
  return database_->ready();
}

void History::rest() {
  database_->rest();
}

Status History::retain(const HistoryRetention& retention, WallTime now) {
  if (!database_->is_writable()) return fail_read_only(*database_);
  const WallTime time = TRY(database_->retention_time(now));
  TRY_STATUS(delete_by_age(*database_, to_column(time - retention.age)));
  return database_->shrink(retention.bytes);
}

}  // namespace autopilot::store
