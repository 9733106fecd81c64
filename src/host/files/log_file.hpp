// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/files/fd.hpp"

namespace autopilot::host {

// A file of the running machine to which another process appends, read from a place onwards. Follows a
// rotation by renaming, and a file that is cut. Opened for reading only, and never waits for a writer. Calls
// may block where the disk or a file server does not answer. Not thread-safe.
class LogFile {
 public:
  // Opens the file at a path for reading where this process may not.
  using Opener = std::function<Result<Fd>(const std::string& path)>;

  // not_found; denied; unsupported: not a regular file, such as a pipe or a terminal; errors of the opener.
  [[nodiscard]] static Result<LogFile> open(std::string path, Opener opener = {});

  // Continues `bytes` before the present end, or at the beginning of a shorter file. True: not at the
  // beginning.
  [[nodiscard]] bool start_before_end(std::size_t bytes);

  struct Piece {
    std::string bytes;
    bool is_new_file = false;  // the first of a file that replaced the one before, or was cut
    std::size_t skipped = 0;   // bytes left out before these, because they came faster than they were read
  };
  // What follows, at most `limit` bytes; empty: nothing new. More than `backlog` bytes behind, it continues
  // `limit` bytes before the end.
  [[nodiscard]] Result<Piece> read_new(std::size_t limit, std::size_t backlog);
  // The last bytes of the file, at most that many, whatever was read before.
  [[nodiscard]] Result<std::string> read_end(std::size_t bytes) const;
  // When it was written last; the beginning of time if it is gone.
  [[nodiscard]] WallTime modified() const;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  LogFile(std::string path, Opener opener, Fd file, std::uint64_t device, std::uint64_t inode)
      : path_(std::move(path)),
        opener_(std::move(opener)),
        file_(std::move(file)),
        device_(device),
        inode_(inode) {}

  [[nodiscard]] Result<std::uint64_t> size() const;
  [[nodiscard]] Result<std::string> read_at(std::uint64_t offset, std::size_t limit) const;
  // True: the path names another file now, which is open.
  [[nodiscard]] bool reopen();

  std::string path_;
  Opener opener_;
  Fd file_;
  std::uint64_t device_ = 0, inode_ = 0;
  std::uint64_t offset_ = 0;
};

}  // namespace autopilot::host
