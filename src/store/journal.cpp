// SPDX-License-Identifier: Apache-2.0
#include "store/journal.hpp"

#include <algorithm>
#include <cerrno>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "store/journal_file.hpp"
#include "store/row_text.hpp"
#include "store/rows.hpp"
#include "store/salvage.hpp"
#include "store/schema.hpp"
#include "store/sqlite.hpp"

namespace autopilot::store {
namespace {

using sqlite::Access;
using sqlite::Connection;

// FULL: each commit is on disk when it returns. The cache is small: rows are written once and read at start.
constexpr const char* kWriterSettings =
    "PRAGMA synchronous=FULL; PRAGMA temp_store=MEMORY; PRAGMA cache_size=-512; PRAGMA trusted_schema=OFF; "
    "PRAGMA cell_size_check=ON";
constexpr const char* kReaderSettings =
    "PRAGMA query_only=ON; PRAGMA temp_store=MEMORY; PRAGMA cache_size=-512; PRAGMA trusted_schema=OFF; "
    "PRAGMA cell_size_check=ON";

// SQLite counts the log in pages of the size that the file has.
Status limit_log(Connection& connection) {
  const auto page_size = TRY(connection.integer("PRAGMA page_size")).value_or(1);
  return connection.execute("PRAGMA journal_size_limit=" + std::to_string(kLogBytes) +
                            "; PRAGMA wal_autocheckpoint=" + std::to_string(kLogBytes / page_size));
}

// Checks for files that SQLite accepts but this version cannot use.
Status check_contents(const std::string& path, const Connection& connection) {
  TRY_STATUS(check_schema(connection, migrations()));
  TRY_STATUS(check_numbering(connection));
  if (!connection.is_read_only()) return {};
  if (::access(path.c_str(), W_OK) != 0) return fail_errno(errno, path);
  return fail(Errc::malformed, path + ": its header forbids writing");
}

Result<Connection> open_for_writing(const std::string& path, WallTime now) {
  TRY_STATUS(make_file(path, now));
  auto connection = TRY(Connection::open(path, Access::read_write));
  const auto kind = TRY(kind_of(connection));
  if (!kind.is_empty && !kind.is_journal)
    return fail(Errc::malformed, path + ": the database belongs to another program");
  if (kind.version > Journal::kSchemaVersion)
    return fail(Errc::unsupported,
                path + ": the journal has the newer schema version " + std::to_string(kind.version));
  // Takes effect only before the first page is written, which switching to WAL mode does.
  if (kind.is_empty) TRY_STATUS(connection.execute("PRAGMA auto_vacuum=INCREMENTAL"));
  TRY_STATUS(connection.execute(kWriterSettings));
  if (TRY(connection.text("PRAGMA journal_mode=WAL")) != "wal")
    return fail(Errc::unavailable, path + ": this file system does not support a write-ahead log");
  TRY_STATUS(limit_log(connection));
  if (!kind.is_empty) TRY_STATUS(check_integrity(connection));
  TRY_STATUS(migrate(connection, migrations()));
  if (!kind.is_empty) TRY_STATUS(check_contents(path, connection));
  return connection;
}

bool is_unusable(const Error& error) {
  return error.code == Errc::malformed || error.code == Errc::unsupported;
}

Result<Connection> open_for_reading(const std::string& path, Access access) {
  auto connection = TRY(Connection::open(path, access));
  const auto kind = TRY(kind_of(connection));
  if (kind.is_empty) return fail(Errc::not_found, path + ": empty");
  if (!kind.is_journal) return fail(Errc::malformed, path + ": not a journal");
  if (kind.version > Journal::kSchemaVersion)
    return fail(Errc::unsupported,
                path + ": the journal has the newer schema version " + std::to_string(kind.version));
  if (kind.version < Journal::kSchemaVersion)
    return fail(Errc::unavailable,
                path + ": the journal has an older schema version; an agent of this version migrates it");
  TRY_STATUS(connection.execute(kReaderSettings));
  return connection;
}

// Why the journal can lack data of its last writer; empty: it is complete.
std::string lost_in(const FileLock& lock, const std::string& path, const Connection& connection) {
  const auto mark = lock.mark();
  if (!mark) return mark.error().what;
  if (*mark && (*mark)->is_behind) return path + ": its last writer could not write all data";
  const auto commits = commits_of(connection);
  if (!commits) return path + ": " + commits.error().what;
  if (*mark && (*mark)->commits > *commits)
    return path + ": " + std::to_string((*mark)->commits - *commits) + " commits are missing";
  if (!*mark && !lock.is_new() && *commits > 0) return path + ": its lock file has no mark";
  const auto whole = check_sum(connection);
  return whole ? "" : path + ": " + whole.error().what;
}

// 0 if the mark cannot be read.
std::uint64_t commits_in(const FileLock& lock) {
  const auto mark = lock.mark();
  return mark && *mark ? (*mark)->commits : 0;
}

bool has_companion(const std::string& path, const char* ending) {
  struct stat status {};
  return ::stat((path + ending).c_str(), &status) == 0 && status.st_size > 0;
}

WallTime to_time(std::int64_t column) {
  return WallTime{Duration{column}};
}

// id, body
Result<Event> read_event(const sqlite::Statement& row) {
  auto event = TRY(parse_event(row.text(1)));
  event.id = static_cast<std::uint64_t>(row.integer(0));
  return event;
}

std::int64_t row_limit(std::size_t limit) {
  return static_cast<std::int64_t>(std::min(limit, Journal::kMaxRows));
}

}  // namespace

struct Journal::Database {
  std::string path;
  std::optional<FileLock> lock;  // not set: read-only; released after the connection is closed
  Connection connection;
  FileIdentity file;
  JournalMark mark{};
  mutable std::size_t unreadable = 0;

  void begin_mark(const JournalMark& first) {
    mark = first;
    lock->set_mark(mark);
  }
  void set_mark(const JournalMark& next) {
    if (std::exchange(mark, next) != next) lock->set_mark(next);
  }

  // Every readable row of the statement; `read_row` returns a Result.
  template <class Row, class ReadRow>
  Result<std::vector<Row>> rows(sqlite::Statement& statement, ReadRow&& read_row) const {
    std::vector<Row> rows;
    while (TRY(statement.step())) {
      Result<Row> row = read_row(statement);
      if (row) {
        rows.push_back(std::move(*row));
      } else {
        ++unreadable;
      }
    }
    return rows;
  }
};

bool Batch::empty() const {
  return events.empty() && incidents.empty() && operations.empty() && pass_records.empty() &&
         last_samples.empty() && !findings && values.empty();
}

Journal::Journal(std::unique_ptr<Database> database) : database_(std::move(database)) {}
Journal::~Journal() = default;

Result<Journal::Opened> Journal::open(const std::string& path, WallTime now) {
  TRY_STATUS(make_folder_of(path));
  auto lock = TRY(FileLock::acquire(path + ".lock"));
  Opened opened;
  auto connection = open_for_writing(path, now);
  if (!connection && is_unusable(connection.error())) {
    opened.reason = connection.error().what;
    if (auto salvaged = salvage(path)) opened.salvaged = std::move(*salvaged);
    auto aside = move_aside(path, now);
    if (aside) connection = open_for_writing(path, now);
    opened.moved_aside = std::move(aside).value_or("");
  }
  if (!connection) {
    // A writer that continues without the journal has data that the journal lacks.
    lock.set_mark({commits_in(lock), true});
    return fail(std::move(connection.error()));
  }
  opened.lost = opened.moved_aside.empty() ? lost_in(lock, path, *connection) : opened.reason;
  // Counts over all journals of this path: an older journal in place of a newer one has fewer commits.
  const std::uint64_t of_journal = commits_of(*connection).value_or(0);
  const std::uint64_t commits = std::max(of_journal, commits_in(lock));
  opened.journal.reset(new Journal(
      std::make_unique<Database>(path, std::move(lock), std::move(*connection), identity_of(path))));
  opened.journal->database_->begin_mark({commits, !opened.lost.empty()});
  opened.is_new = of_journal == 0 && TRY(opened.journal->last_event_id()) == 0;
  return opened;
}

Result<std::unique_ptr<Journal>> Journal::salvage(const std::string& path) {
  auto copy = store::salvage(path);
  if (!copy) {
    // A lock file without a journal shows that the journal was removed.
    const bool is_gone =
        copy.error().code == Errc::not_found && identity_of(path + ".lock") != FileIdentity{};
    return fail(is_gone ? Errc::malformed : copy.error().code, std::move(copy.error().what));
  }
  return std::unique_ptr<Journal>(
      new Journal(std::make_unique<Database>(path, std::nullopt, std::move(*copy), FileIdentity{})));
}

Result<std::unique_ptr<Journal>> Journal::open_read_only(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return fail_errno(errno, path);
  if (!S_ISREG(status.st_mode)) return fail(Errc::malformed, path + ": not a file");
  if (status.st_size == 0) return fail(Errc::not_found, path + ": empty");
  auto connection = open_for_reading(path, Access::read_only);
  // In a folder where SQLite cannot create its companion files, a journal without a log can be read as it is.
  if (!connection && !is_unusable(connection.error()) && !has_companion(path, "-wal")) {
    if (auto as_it_is = open_for_reading(path, Access::immutable)) connection = std::move(as_it_is);
  }
  // SQLite needs this companion only while it writes the first page: the process that wrote it died.
  if (!connection && connection.error().code == Errc::denied && has_companion(path, "-journal"))
    return fail(Errc::not_found, path + ": its creation was interrupted");
  if (!connection) return fail(std::move(connection.error()));
  return std::unique_ptr<Journal>(
      new Journal(std::make_unique<Database>(path, std::nullopt, std::move(*connection), identity_of(path))));
}

const std::string& Journal::path() const {
  return database_->path;
}

std::size_t Journal::unreadable_rows() const {
  return database_->unreadable;
}

Result<std::vector<std::uint64_t>> Journal::commit(const Batch& batch) {
  if (!database_->lock) return fail(Errc::denied, database_->path + ": open in read-only mode");
  if (batch.empty()) return std::vector<std::uint64_t>{};
  // Before the log has taken all free space: SQLite truncates it only while the file can still grow.
  if (has_little_room(database_->path, kLogBytes)) static_cast<void>(cut_log(database_->connection));
  auto ids = write(batch);
  if (ids)
    database_->set_mark({database_->mark.commits + 1, database_->mark.is_behind && !batch.is_whole});
  else
    set_behind();
  return ids;
}

void Journal::set_behind() {
  database_->set_mark({database_->mark.commits, true});
}

Result<std::vector<std::uint64_t>> Journal::write(const Batch& batch) {
  // SQLite would continue to write to a file that no longer has a name.
  if (identity_of(database_->path) != database_->file)
    return fail(Errc::malformed, database_->path + ": removed or replaced while in use");
  auto transaction = TRY(sqlite::Transaction::begin(database_->connection));
  auto ids = TRY(write_rows(database_->connection, batch));
  TRY_STATUS(write_seal(database_->connection, batch, database_->mark.commits + 1));
  TRY_STATUS(transaction.commit());
  return ids;
}

Result<std::vector<Event>> Journal::newest_events(std::size_t limit) const {
  auto statement = TRY(database_->connection.prepare("SELECT id, body FROM events ORDER BY id DESC LIMIT ?"));
  statement.bind(1, row_limit(limit));
  auto events = TRY(database_->rows<Event>(statement, read_event));
  std::ranges::reverse(events);
  return events;
}

Result<std::vector<Event>> Journal::events(const EventQuery& query) const {
  auto statement =
      TRY(database_->connection.prepare("SELECT id, body FROM events WHERE id > ?1 AND time >= ?2 "
                                        "AND (?3 = '' OR check_id = ?3) ORDER BY id LIMIT ?4"));
  const auto after = std::min(query.after_id, std::uint64_t{std::numeric_limits<std::int64_t>::max()});
  statement.bind(1, static_cast<std::int64_t>(after));
  statement.bind(2, query.since ? to_column(*query.since) : std::numeric_limits<std::int64_t>::min());
  statement.bind(3, query.check).bind(4, row_limit(query.limit));
  return database_->rows<Event>(statement, read_event);
}

Result<std::uint64_t> Journal::last_event_id() const {
  const auto last =
      TRY(database_->connection.integer("SELECT seq FROM sqlite_sequence WHERE name = 'events'"));
  return static_cast<std::uint64_t>(last.value_or(0));
}

Result<std::vector<Incident>> Journal::incidents(bool closed_too, std::size_t limit) const {
  auto statement =
      TRY(database_->connection.prepare("SELECT body FROM incidents WHERE ? OR closed IS NULL "
                                        "ORDER BY opened DESC, rowid DESC LIMIT ?"));
  statement.bind(1, std::int64_t{closed_too}).bind(2, row_limit(limit));
  return database_->rows<Incident>(statement,
                                   [](const sqlite::Statement& row) { return parse_incident(row.text(0)); });
}

Result<std::vector<Operation>> Journal::operations(std::size_t limit) const {
  auto statement = TRY(
      database_->connection.prepare("SELECT body FROM operations ORDER BY created DESC, rowid DESC LIMIT ?"));
  statement.bind(1, row_limit(limit));
  return database_->rows<Operation>(
      statement, [](const sqlite::Statement& row) { return parse_operation(row.text(0)); });
}

Result<std::vector<PassRecord>> Journal::pass_records() const {
  auto statement = TRY(database_->connection.prepare(
      "SELECT gpu_uuid, test, time, boot_id, operation FROM pass_records ORDER BY gpu_uuid, test LIMIT ?"));
  statement.bind(1, row_limit(kMaxRows));
  return database_->rows<PassRecord>(statement, [](const sqlite::Statement& row) -> Result<PassRecord> {
    return PassRecord{row.text(0), row.text(1), to_time(row.integer(2)), row.text(3), row.text(4)};
  });
}

Result<std::vector<LastSample>> Journal::last_samples(std::string_view boot_id) const {
  auto statement =
      TRY(database_->connection.prepare("SELECT check_id, body, boot_id FROM last_samples WHERE boot_id = ? "
                                        "ORDER BY check_id, subject_kind, subject_key, name LIMIT ?"));
  statement.bind(1, boot_id).bind(2, row_limit(kMaxRows));
  return database_->rows<LastSample>(statement, [](const sqlite::Statement& row) -> Result<LastSample> {
    auto observation = TRY(parse_observation(row.text(1)));
    return LastSample{row.text(0), std::move(observation), row.text(2)};
  });
}

Result<std::vector<StoredFinding>> Journal::findings() const {
  auto statement = TRY(database_->connection.prepare(
      "SELECT check_id, body, boot_id, state FROM findings ORDER BY position LIMIT ?"));
  statement.bind(1, row_limit(kMaxRows));
  return database_->rows<StoredFinding>(statement, [](const sqlite::Statement& row) -> Result<StoredFinding> {
    auto finding = TRY(parse_finding(row.text(1)));
    return StoredFinding{row.text(0), std::move(finding), row.text(2), row.text(3)};
  });
}

Result<std::optional<std::string>> Journal::value(std::string_view name) const {
  auto statement = TRY(database_->connection.prepare("SELECT value FROM facts WHERE name = ?"));
  statement.bind(1, name);
  if (!TRY(statement.step())) return std::nullopt;
  return statement.text(0);
}

Status Journal::retain(const Retention& retention, WallTime now) {
  if (!database_->lock) return fail(Errc::denied, database_->path + ": open in read-only mode");
  return delete_expired(database_->connection, retention, now);
}

}  // namespace autopilot::store
