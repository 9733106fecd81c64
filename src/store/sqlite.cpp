// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <mutex>
#include <sqlite3.h>
#include <sys/mman.h>

namespace autopilot::store::sqlite {
namespace {

// A reader never blocks the one writer; a checkpoint or another tool can, briefly.
constexpr int kBusyMilliseconds = 2000;

Errc code_of(sqlite3* connection, int result) {
  switch (result & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Errc::malformed;
    case SQLITE_FULL:
    case SQLITE_TOOBIG:
      return Errc::exhausted;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Errc::unavailable;
    case SQLITE_CONSTRAINT:
      return Errc::conflict;
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_AUTH:
      return Errc::denied;
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN: {
      const int number = connection == nullptr ? 0 : sqlite3_system_errno(connection);
      if (number == ENOSPC || number == EDQUOT) return Errc::exhausted;
      if (number == EACCES || number == EPERM || number == EROFS) return Errc::denied;
      return Errc::unavailable;
    }
    default:
      return Errc::internal;
  }
}

tl::unexpected<Error> failure(sqlite3* connection, int result, std::string_view doing) {
  const char* path = connection == nullptr ? nullptr : sqlite3_db_filename(connection, "main");
  std::string what = path == nullptr ? std::string("journal") : std::string(path);
  what += ": ";
  what += doing;
  what += ": ";
  what += sqlite3_errstr(result);
  if (connection != nullptr && sqlite3_errcode(connection) == (result & 0xff)) {
    what += " (";
    what += sqlite3_errmsg(connection);
    what += ')';
  }
  return fail(code_of(connection, result), std::move(what));
}

// On a full disk, touching a page of the shared index without a block kills the process with SIGBUS. Its
// blocks are therefore allocated before it is mapped; missing space is then an ordinary error.
void* map_with_blocks(void* address, std::size_t length, int protection, int flags, int fd, off_t offset) {
  if (fd >= 0 && (protection & PROT_WRITE) != 0) {
    if (const int error = ::posix_fallocate(fd, offset, static_cast<off_t>(length)); error != 0) {
      errno = error;
      return MAP_FAILED;
    }
  }
  return ::mmap(address, length, protection, flags, fd, offset);
}

// Applies to every connection of this process.
void map_only_what_has_blocks() {
  static std::once_flag done;
  std::call_once(done, [] {
    sqlite3_vfs* files = sqlite3_vfs_find(nullptr);
    files->xSetSystemCall(files, "mmap", reinterpret_cast<sqlite3_syscall_ptr>(&map_with_blocks));
  });
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Statement::Statement(sqlite3* connection, sqlite3_stmt* statement)
    : connection_(connection), statement_(statement) {}

Statement& Statement::bind(int parameter, std::int64_t value) {
  const int result = sqlite3_bind_int64(statement_.get(), parameter, value);
  if (bind_result_ == SQLITE_OK) bind_result_ = result;
  return *this;
}

Statement& Statement::bind(int parameter, std::string_view value) {
  // A null pointer would bind NULL instead of "".
  const char* text = value.data() == nullptr ? "" : value.data();
  const int result =
      sqlite3_bind_text64(statement_.get(), parameter, text, value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  if (bind_result_ == SQLITE_OK) bind_result_ = result;
  return *this;
}

Statement& Statement::bind_null(int parameter) {
  const int result = sqlite3_bind_null(statement_.get(), parameter);
  if (bind_result_ == SQLITE_OK) bind_result_ = result;
  return *this;
}

Statement& Statement::bind_column(int parameter, const Statement& row, int column) {
  const int result =
      sqlite3_bind_value(statement_.get(), parameter, sqlite3_column_value(row.statement_.get(), column));
  if (bind_result_ == SQLITE_OK) bind_result_ = result;
  return *this;
}

Result<bool> Statement::step() {
  if (bind_result_ != SQLITE_OK) return failure(connection_, bind_result_, "cannot bind");
  const int result = sqlite3_step(statement_.get());
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) return false;
  const auto error = failure(connection_, result, sqlite3_sql(statement_.get()));
  sqlite3_reset(statement_.get());
  return error;
}

Status Statement::run() {
  while (TRY(step())) {
  }
  sqlite3_reset(statement_.get());
  return {};
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string Statement::text(int column) const {
  const auto* text = static_cast<const char*>(sqlite3_column_blob(statement_.get(), column));
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return text == nullptr ? std::string{} : std::string(text, static_cast<std::size_t>(size));
}

void Connection::Close::operator()(sqlite3* connection) const {
  sqlite3_close_v2(connection);
}

Result<Connection> Connection::open(const std::string& path, Access access) {
  // A URI, which allows the parameter `immutable`; these characters would end the path.
  std::string uri = "file:";
  for (const char c : path) {
    if (c == '%') {
      uri += "%25";
    } else if (c == '?') {
      uri += "%3f";
    } else if (c == '#') {
      uri += "%23";
    } else {
      uri += c;
    }
  }
  if (access == Access::immutable) uri += "?immutable=1";
  const int mode = access == Access::read_write ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
  map_only_what_has_blocks();
  sqlite3* raw = nullptr;
  const int result = sqlite3_open_v2(
      uri.c_str(), &raw, mode | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  Connection connection(raw);
  if (result != SQLITE_OK) {
    auto error = failure(raw, result, "cannot open");
    if (raw == nullptr) return error;
    return fail(error.value().code, path + ": " + error.value().what);
  }
  sqlite3_busy_timeout(raw, kBusyMilliseconds);
  return connection;
}

Status Connection::execute(const std::string& sql) {
  const int result = sqlite3_exec(connection_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (result != SQLITE_OK) return failure(connection_.get(), result, sql);
  return {};
}

Result<Statement> Connection::prepare(std::string_view sql) const {
  sqlite3_stmt* raw = nullptr;
  const int result =
      sqlite3_prepare_v2(connection_.get(), sql.data(), static_cast<int>(sql.size()), &raw, nullptr);
  if (result != SQLITE_OK) return failure(connection_.get(), result, sql);
  return Statement(connection_.get(), raw);
}

Result<std::optional<std::int64_t>> Connection::integer(std::string_view sql) const {
  auto statement = TRY(prepare(sql));
  if (!TRY(statement.step())) return std::nullopt;
  return statement.integer(0);
}

Result<std::optional<std::string>> Connection::text(std::string_view sql) const {
  auto statement = TRY(prepare(sql));
  if (!TRY(statement.step())) return std::nullopt;
  return statement.text(0);
}

bool Connection::is_read_only() const {
  return sqlite3_db_readonly(connection_.get(), "main") != 0;
}

std::int64_t Connection::changes() const {
  return sqlite3_changes64(connection_.get());
}

Result<std::string> Connection::image() const {
  sqlite3_int64 size = 0;
  unsigned char* bytes = sqlite3_serialize(connection_.get(), "main", &size, 0);
  if (bytes == nullptr) return failure(connection_.get(), SQLITE_NOMEM, "cannot copy");
  std::string image(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  sqlite3_free(bytes);
  return image;
}

Status Connection::take_image(std::string_view image) {
  auto* bytes = static_cast<unsigned char*>(sqlite3_malloc64(image.size()));
  if (bytes == nullptr) return failure(connection_.get(), SQLITE_NOMEM, "cannot copy");
  std::ranges::copy(image, bytes);
  const auto size = static_cast<sqlite3_int64>(image.size());
  const int result = sqlite3_deserialize(connection_.get(), "main", bytes, size, size,
                                         SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY);
  if (result != SQLITE_OK) return failure(connection_.get(), result, "cannot load the copy");
  return {};
}

Result<Transaction> Transaction::begin(Connection& connection) {
  TRY_STATUS(connection.execute("BEGIN IMMEDIATE"));
  return Transaction(connection);
}

Transaction::~Transaction() {
  // Some errors have already rolled back; then this call fails and changes nothing.
  if (connection_ != nullptr) static_cast<void>(connection_->execute("ROLLBACK"));
}

Status Transaction::commit() {
  TRY_STATUS(connection_->execute("COMMIT"));
  connection_ = nullptr;
  return {};
}

}  // namespace autopilot::store::sqlite
