// SPDX-License-Identifier: Apache-2.0
#include "store/salvage.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

#include "store/journal.hpp"
#include "store/schema.hpp"

namespace autopilot::store {
namespace {

using sqlite::Access;
using sqlite::Connection;

// A damaged page ends a scan; the other rows are read in the opposite order.
struct Table {
  std::string_view name;
  std::string_view columns;
  std::string_view forwards;
  std::string_view backwards;
  std::string_view only;  // condition for useful rows
};
constexpr std::array<Table, 7> kTables{{
    {"findings", "position, check_id, boot_id, state, body", "position", "position DESC", "true"},
    {"facts", "name, value", "name", "name DESC", "name NOT LIKE 'journal.%'"},
    {"incidents", "id, opened, closed, body", "rowid", "rowid DESC", "true"},
    {"pass_records", "gpu_uuid, test, time, boot_id, operation", "gpu_uuid, test", "gpu_uuid DESC, test DESC",
     "true"},
    {"operations", "id, created, is_over, body", "rowid", "rowid DESC", "true"},
    {"last_samples", "check_id, subject_kind, subject_key, name, boot_id, time, body",
     "check_id, subject_kind, subject_key, name",
     "check_id DESC, subject_kind DESC, subject_key DESC, name DESC", "true"},
    {"events", "id, time, check_id, body", "id DESC", "id", "id BETWEEN 1 AND 4503599627370496"},
}};

// Larger files are not copied into memory.
constexpr off_t kMaxFileBytes = off_t{256} << 20;

std::string marks(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i)
    text += i == 0 ? "?" : ", ?";
  return text;
}

// True: reached the end. Rows that the table rejects, or that exist already, are skipped.
bool copy_rows(const Connection& from, const Table& table, std::string_view order, Connection& to) {
  const auto columns = static_cast<std::size_t>(std::ranges::count(table.columns, ',')) + 1;
  const std::string name{table.name};
  const std::string list{table.columns};
  auto rows = from.prepare("SELECT " + list + " FROM " + name + " NOT INDEXED WHERE " +
                           std::string(table.only) + " ORDER BY " + std::string(order) + " LIMIT " +
                           std::to_string(table.name == "events" ? kMaxSalvagedEvents : Journal::kMaxRows));
  auto insert = to.prepare("INSERT OR IGNORE INTO " + name + "(" + list + ") VALUES(" + marks(columns) + ")");
  if (!rows || !insert) return false;
  for (;;) {
    const auto is_row = rows->step();
    if (!is_row) return false;
    if (!*is_row) return true;
    for (int column = 0; column < static_cast<int>(columns); ++column)
      insert->bind_column(column + 1, *rows, column);
    if (!insert->run()) continue;
  }
}

Status copy_tables(const Connection& from, Connection& to) {
  auto transaction = TRY(sqlite::Transaction::begin(to));
  std::size_t readable = 0;
  for (const Table& table : kTables) {
    const bool is_whole = copy_rows(from, table, table.forwards, to);
    const bool has_more = is_whole || copy_rows(from, table, table.backwards, to);
    const auto rows = TRY(to.integer("SELECT count(*) FROM " + std::string(table.name)));
    if (has_more || rows.value_or(0) > 0) ++readable;
  }
  if (readable == 0) return fail(Errc::malformed, "no table is readable");
  return transaction.commit();
}

// Makes SQLite accept a schema with errors, and a file that is shorter than its header states.
Status be_tolerant(Connection& connection) {
  return connection.execute("PRAGMA writable_schema=ON; PRAGMA query_only=ON; PRAGMA trusted_schema=OFF");
}

Result<Connection> new_memory() {
  auto memory = TRY(Connection::open(":memory:", Access::read_write));
  TRY_STATUS(migrate(memory, migrations()));
  return memory;
}

Result<Connection> copy_of(Connection& from) {
  TRY_STATUS(be_tolerant(from));
  auto memory = TRY(new_memory());
  TRY_STATUS(copy_tables(from, memory));
  return memory;
}

Result<Connection> copy_of_file(const std::string& path, Access access) {
  auto connection = TRY(Connection::open(path, access));
  return copy_of(connection);
}

Result<std::string> read_whole(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail_errno(errno, path);
  struct stat status {};
  std::string text;
  ssize_t size = ::fstat(fd, &status) == 0 && status.st_size <= kMaxFileBytes ? 1 : -1;
  if (size > 0) text.resize(static_cast<std::size_t>(status.st_size));
  for (std::size_t done = 0; size > 0 && done < text.size(); done += static_cast<std::size_t>(size)) {
    size = ::pread(fd, text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (size <= 0) text.resize(done);
  }
  ::close(fd);
  return text;
}

void put_number(std::string& page, std::size_t at, std::uint32_t number) {
  for (std::size_t i = 0; i < 4; ++i)
    page[at + i] = static_cast<char>(static_cast<unsigned char>(number >> (24 - 8 * i)));
}

// The first page, with the header and the roots of all tables, is the same in every journal of a version
// except for some numbers: a damaged one is replaced.
Result<Connection> copy_with_sound_first_page(const std::string& path) {
  auto model = TRY(Connection::open(":memory:", Access::read_write));
  TRY_STATUS(model.execute("PRAGMA auto_vacuum=INCREMENTAL"));
  TRY_STATUS(migrate(model, migrations()));
  const auto page_size = static_cast<std::size_t>(TRY(model.integer("PRAGMA page_size")).value_or(0));
  std::string page = TRY(model.image()).substr(0, page_size);
  std::string file = TRY(read_whole(path));
  if (page.size() != page_size || file.size() < 2 * page_size)
    return fail(Errc::malformed, path + ": the file is too short to be a journal");
  constexpr std::size_t kPages = 28;
  constexpr std::size_t kFirstFree = 32;
  constexpr std::size_t kFreePages = 36;
  file.resize(file.size() - file.size() % page_size);
  put_number(page, kPages, static_cast<std::uint32_t>(file.size() / page_size));
  put_number(page, kFirstFree, 0);
  put_number(page, kFreePages, 0);
  file.replace(0, page_size, page);
  auto repaired = TRY(Connection::open(":memory:", Access::read_write));
  TRY_STATUS(repaired.take_image(file));
  return copy_of(repaired);
}

}  // namespace

Result<Connection> salvage(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return fail_errno(errno, path);
  if (!S_ISREG(status.st_mode)) return fail(Errc::malformed, path + ": not a file");
  if (auto copy = copy_of_file(path, Access::read_only)) return copy;
  if (auto copy = copy_with_sound_first_page(path)) return copy;
  return copy_of_file(path, Access::immutable);
}

}  // namespace autopilot::store
