// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/result.hpp"
#include "store/sqlite.hpp"

namespace autopilot::store {

// In the file's header, so that nobody else's database is taken for a journal: "APjl".
inline constexpr std::int64_t kApplicationId = 0x41506a6c;

// What turns version n-1 into version n; the first one makes an empty file version 1.
struct Migration {
  int version = 0;
  // Of the program itself: a thread that a disk held up may still be at it when the process ends.
  std::string_view sql;
};

[[nodiscard]] std::span<const Migration> migrations();

struct FileKind {
  bool is_empty = false;    // nothing in it yet
  bool is_journal = false;  // ours, of whatever version
  int version = 0;
};
[[nodiscard]] Result<FileKind> kind_of(const sqlite::Connection& connection);

// From the file's version to the last of `steps`, each step whole or not at all.
[[nodiscard]] Status migrate(sqlite::Connection& connection, std::span<const Migration> steps);

// malformed when SQLite finds the file damaged. Looks at everything up to a size that takes some ten
// milliseconds, and only at the small tables of larger files.
[[nodiscard]] Status check_integrity(const sqlite::Connection& connection);

// SQLite does not see a flipped bit inside a text or a number. malformed when a table is not as `steps` make
// it; what else is in the file is nobody's concern.
[[nodiscard]] Status check_schema(const sqlite::Connection& connection, std::span<const Migration> steps);

// malformed when the numbers of the events are such that none could follow.
[[nodiscard]] Status check_numbering(const sqlite::Connection& connection);

}  // namespace autopilot::store
