// SPDX-License-Identifier: Apache-2.0
#include "store/history/history_sqlite.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <variant>

#include "learning/record_check.hpp"
#include "store/history/history_schema.hpp"
#include "store/journal.hpp"
#include "store/journal_file.hpp"
#include "store/rows.hpp"
#include "store/sqlite.hpp"

namespace autopilot::store {
namespace {

using sqlite::Access;
using sqlite::Connection;
using sqlite::Statement;

constexpr const char* kPutRecord =
    "INSERT INTO records(type, id, cluster, node, gpu, job, outcome, begin_ns, end_ns, body) "
    "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT(type, id) DO UPDATE SET cluster = excluded.cluster, node = excluded.node, "
    "gpu = excluded.gpu, job = excluded.job, outcome = excluded.outcome, begin_ns = excluded.begin_ns, "
    "end_ns = excluded.end_ns, body = excluded.body";
// Types of which jobs make many records. Faults, and what people write, stay longer, whatever their age.
constexpr std::array<std::string_view, 4> kEvictedFirst{"job", "measurement", "validation", "versions"};

bool is_history_unusable(const Error& error) {
  return error.code == Errc::malformed || error.code == Errc::unsupported;
}

void bind_all(Statement& statement, const SqlValues& values) {
  for (std::size_t i = 0; i < values.size(); ++i)
    std::visit([&](const auto& value) { statement.bind(static_cast<int>(i) + 1, value); }, values[i]);
}

class StatementRow final : public SqlRow {
 public:
  explicit StatementRow(const Statement& statement) : statement_(statement) {}
  [[nodiscard]] std::int64_t integer(int column) const override { return statement_.integer(column); }
  [[nodiscard]] std::string text(int column) const override { return statement_.text(column); }

 private:
  const Statement& statement_;
};

class SqliteHistory final : public HistoryDatabase {
 public:
  SqliteHistory(std::string path, bool is_writable, Connection connection)
      : path_(std::move(path)),
        is_writable_(is_writable),
        connection_(std::move(connection)),
        file_(identity_of(path_)) {}

  [[nodiscard]] const std::string& place() const override { return path_; }
  [[nodiscard]] bool is_writable() const override { return is_writable_; }
  [[nodiscard]] Status select(const std::string& sql, const SqlValues& values,
                              const TakeRow& take) const override;
  [[nodiscard]] Status walk(const std::string& sql, const SqlValues& values,
                            const TakeRow& take) const override {
    return select(sql, values, take);
  }
  [[nodiscard]] Status put(const std::vector<SqlValues>& rows) override;
  [[nodiscard]] Result<std::int64_t> remove(const std::string& sql, const SqlValues& values) override;
  [[nodiscard]] std::uint64_t size_bytes() const override;
  [[nodiscard]] Result<WallTime> retention_time(WallTime now) override { return now; }
  [[nodiscard]] Status shrink(std::uint64_t bytes) override;

 private:
  [[nodiscard]] Result<std::int64_t> used_bytes() const;
  // Begin of the record after the oldest tenth of those types; nullopt: no record.
  [[nodiscard]] Result<std::optional<std::int64_t>> end_of_oldest_tenth(
      std::span<const std::string_view> types) const;

  std::string path_;
  bool is_writable_;
  Connection connection_;
  FileIdentity file_;
};

Status SqliteHistory::select(const std::string& sql, const SqlValues& values, const TakeRow& take) const {
  auto statement = TRY(connection_.prepare(sql));
  bind_all(statement, values);
  while (TRY(statement.step()))
    if (!take(StatementRow(statement))) return {};
  return {};
}

Status SqliteHistory::put(const std::vector<SqlValues>& rows) {
  // SQLite would continue to write to a file that no longer has a name.
  if (identity_of(path_) != file_) return fail(Errc::malformed, path_ + ": removed or replaced while in use");
  // Before the log has taken all free space: SQLite truncates it only while the file can still grow.
  if (has_little_room(path_, kLogBytes)) static_cast<void>(cut_log(connection_));
  auto transaction = TRY(sqlite::Transaction::begin(connection_));
  auto put = TRY(connection_.prepare(kPutRecord));
  for (const SqlValues& row : rows) {
    bind_all(put, row);
    TRY_STATUS(put.run());
  }
  return transaction.commit();
}

Result<std::int64_t> SqliteHistory::remove(const std::string& sql, const SqlValues& values) {
  auto statement = TRY(connection_.prepare(sql));
  bind_all(statement, values);
  TRY_STATUS(statement.run());
  return connection_.changes();
}

std::uint64_t SqliteHistory::size_bytes() const {
  std::uint64_t bytes = 0;
  for (const char* ending : {"", "-wal"}) {
    std::error_code error;
    const auto size = std::filesystem::file_size(path_ + ending, error);
    if (!error) bytes += size;
  }
  return bytes;
}

Result<std::int64_t> SqliteHistory::used_bytes() const {
  const auto pages = TRY(connection_.integer("PRAGMA page_count")).value_or(0);
  const auto unused = TRY(connection_.integer("PRAGMA freelist_count")).value_or(0);
  return (pages - unused) * TRY(connection_.integer("PRAGMA page_size")).value_or(0);
}

Result<std::optional<std::int64_t>> SqliteHistory::end_of_oldest_tenth(
    std::span<const std::string_view> types) const {
  std::string list;
  for (const std::string_view type : types)
    list.append(list.empty() ? "'" : ", '").append(type).append("'");
  const std::string rows = " FROM records WHERE type IN (" + list + ")";
  return connection_.integer("SELECT begin_ns + 1" + rows +
                             " ORDER BY begin_ns LIMIT 1 OFFSET (SELECT count(*) / 10" + rows + ")");
}

Status SqliteHistory::shrink(std::uint64_t bytes) {
  const auto limit =
      static_cast<std::int64_t>(std::min(bytes, std::uint64_t{std::numeric_limits<std::int64_t>::max()}));
  for (const std::span<const std::string_view> types :
       {std::span<const std::string_view>(kEvictedFirst),
        std::span<const std::string_view>(learning::kRecordTypes)})
    while (TRY(used_bytes()) > limit) {
      const auto until = TRY(end_of_oldest_tenth(types));
      if (!until) break;
      TRY_STATUS(delete_history_before(*this, *until, types));
    }
  TRY_STATUS(connection_.execute("PRAGMA incremental_vacuum"));
  return cut_log(connection_);
}

}  // namespace

Result<OpenedHistoryFile> open_history_file(const std::string& path, WallTime now, bool moves_aside) {
  TRY_STATUS(make_folder_of(path));
  // Held only here: two processes must not move the file aside, or create it, at once.
  auto lock = FileLock::acquire(path + ".lock");
  if (!lock && lock.error().code == Errc::conflict)
    return fail(Errc::unavailable, path + ": another process opens it at this moment");
  if (!lock) return fail(std::move(lock.error()));
  OpenedHistoryFile opened;
  auto connection = open_history_for_writing(path, now);
  if (!connection && moves_aside && is_history_unusable(connection.error())) {
    opened.reason = connection.error().what;
    opened.moved_aside = TRY(Journal::move_aside(path, now));
    connection = open_history_for_writing(path, now);
  }
  if (!connection) return fail(std::move(connection.error()));
  opened.database = std::make_unique<SqliteHistory>(path, true, std::move(*connection));
  return opened;
}

Result<std::unique_ptr<HistoryDatabase>> open_history_file_read_only(const std::string& path) {
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
  return std::make_unique<SqliteHistory>(path, false, std::move(*connection));
}

}  // namespace autopilot::store
