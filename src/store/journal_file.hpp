// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/clock.hpp"
#include "core/result.hpp"

namespace autopilot::store {

// The content of the lock file: it shows if the journal beside it lost its newest commits, or never got them.
struct JournalMark {
  std::uint64_t commits = 0;  // that were made at least
  bool is_behind = false;     // the writer knew more than it could write
  friend bool operator==(const JournalMark&, const JournalMark&) = default;
};

// "00000000000000000042 behind \n": always as long, so that it is written over in place.
inline constexpr std::size_t kJournalMarkBytes = 29;

[[nodiscard]] std::string format_journal_mark(const JournalMark& mark);
// malformed: anything that format_journal_mark does not give.
[[nodiscard]] Result<JournalMark> parse_journal_mark(std::string_view text);

// The journal in the file system: folder, lock file, and files that are not a journal.

// Held by the writing process; the kernel releases it when that process ends.
class FileLock {
 public:
  // conflict: another process holds the lock.
  static Result<FileLock> acquire(const std::string& path);
  // True if the lock file did not exist before.
  [[nodiscard]] bool is_new() const { return is_new_; }
  // malformed: the mark is damaged. nullopt: no mark was written yet.
  [[nodiscard]] Result<std::optional<JournalMark>> mark() const;
  // Overwrites in place, which needs no space on a full disk. If writing fails, the old mark stays.
  void set_mark(const JournalMark& mark);
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  FileLock(FileLock&& other) noexcept : fd_(other.fd_), is_new_(other.is_new_) { other.fd_ = -1; }
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  FileLock(int fd, bool is_new) : fd_(fd), is_new_(is_new) {}
  int fd_;
  bool is_new_;
};

// Creates the folder of `path` with mode 0700 if it is missing.
[[nodiscard]] Status make_folder_of(const std::string& path);

// Creates an empty file of mode 0600 if it is missing. malformed: another kind of file has its name. A
// write-ahead log without its database is moved aside: SQLite would replay it into the new database.
[[nodiscard]] Status make_file(const std::string& path, WallTime now);

// Whether the file system of `path` has less free space for this user. False if it does not report it.
[[nodiscard]] bool has_little_room(const std::string& path, std::int64_t bytes);

// Device and inode; zeros if the file is missing.
using FileIdentity = std::pair<std::uint64_t, std::uint64_t>;
[[nodiscard]] FileIdentity identity_of(const std::string& path);

}  // namespace autopilot::store
