// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "core/clock.hpp"
#include "core/result.hpp"

// The journal's place in the file system: folder, lock, and files that are no journal.
namespace autopilot::store {

// Held by the one process that writes; the kernel gives it back when that process dies.
class FileLock {
 public:
  // conflict when somebody else holds it.
  static Result<FileLock> acquire(const std::string& path);
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  FileLock(FileLock&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_;
};

// The folder of `path`, made with mode 0700 where it is missing.
[[nodiscard]] Status make_folder_of(const std::string& path);

// An empty file of mode 0600 where there is none. malformed when something else has its name. A write-ahead
// log whose database is gone is moved aside: SQLite would replay it into the new one.
[[nodiscard]] Status make_file(const std::string& path, WallTime now);

// Device and inode; zeros where there is none.
using FileIdentity = std::pair<std::uint64_t, std::uint64_t>;
[[nodiscard]] FileIdentity identity_of(const std::string& path);

}  // namespace autopilot::store
