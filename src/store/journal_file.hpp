// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "store/journal_mark.hpp"

// The journal's place in the file system: folder, lock, and files that are no journal.
namespace autopilot::store {

// Held by the one process that writes; the kernel gives it back when that process dies.
class FileLock {
 public:
  // conflict when somebody else holds it.
  static Result<FileLock> acquire(const std::string& path);
  // The file was not there before.
  [[nodiscard]] bool is_new() const { return is_new_; }
  // malformed: it is damaged. Nothing: no mark was ever written.
  [[nodiscard]] Result<std::optional<JournalMark>> mark() const;
  // In place, which needs no room on a full disk. One that cannot be written stays as it was.
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

// The folder of `path`, made with mode 0700 where it is missing.
[[nodiscard]] Status make_folder_of(const std::string& path);

// An empty file of mode 0600 where there is none. malformed when something else has its name. A write-ahead
// log whose database is gone is moved aside: SQLite would replay it into the new one.
[[nodiscard]] Status make_file(const std::string& path, WallTime now);

// Whether the file system of `path` has less free for this user. False where it does not tell.
[[nodiscard]] bool has_little_room(const std::string& path, std::int64_t bytes);

// Device and inode; zeros where there is none.
using FileIdentity = std::pair<std::uint64_t, std::uint64_t>;
[[nodiscard]] FileIdentity identity_of(const std::string& path);

}  // namespace autopilot::store
