// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/result.hpp"
#include "store/journal.hpp"
#include "store/sqlite.hpp"

namespace autopilot::store {

// In the file's header, so that the database of another program is not used as a journal: "APjl".
inline constexpr std::int64_t kApplicationId = 0x41506a6c;

// Migrates version n-1 to version n; the first one turns an empty file into version 1.
struct Migration {
  int version = 0;
  // Static text: a thread blocked by a disk can still use it when the process ends.
  std::string_view sql;
};

[[nodiscard]] std::span<const Migration> migrations();

struct FileKind {
  bool is_empty = false;    // has no tables yet
  bool is_journal = false;  // a journal of any version
  int version = 0;
};
[[nodiscard]] Result<FileKind> kind_of(const sqlite::Connection& connection);

// Migrates from the file's version to the last of `steps`, each step atomically.
[[nodiscard]] Status migrate(sqlite::Connection& connection, std::span<const Migration> steps);

// malformed: SQLite finds the file damaged. Checks all tables up to a size that takes some ten milliseconds,
// and only the small tables of larger files.
[[nodiscard]] Status check_integrity(const sqlite::Connection& connection);

// SQLite does not detect a flipped bit inside a text or a number. malformed: a table differs from the one
// that `steps` create. Other entries of the file are ignored.
[[nodiscard]] Status check_schema(const sqlite::Connection& connection, std::span<const Migration> steps);

// malformed: the event ids leave no valid next id.
[[nodiscard]] Status check_numbering(const sqlite::Connection& connection);

// Data in a journal about itself: the number of its commits, and a checksum of the rows that the verdict of a
// node depends on (held findings, open incidents, facts). SQLite does not detect a flipped bit inside a row,
// and accepts a truncated log as complete.

// Runs inside the transaction that writes the batch; `commits` includes it.
[[nodiscard]] Status write_seal(sqlite::Connection& connection, const Batch& batch, std::uint64_t commits);

// 0: the journal has no count.
[[nodiscard]] Result<std::uint64_t> commits_of(const sqlite::Connection& connection);

// malformed: rows changed after they were written. A journal without a checksum, from an older agent, is
// accepted.
[[nodiscard]] Status check_sum(const sqlite::Connection& connection);

}  // namespace autopilot::store
