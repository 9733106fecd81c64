// SPDX-License-Identifier: Apache-2.0
#include "host/files/log_file.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace autopilot::host {

Result<LogFile> LogFile::open(std::string path, Opener opener) {
  struct stat status {};
  // Before it is opened: opening a device can have an effect.
  if (::stat(path.c_str(), &status) != 0) return fail_errno(errno, path);
  if (!S_ISREG(status.st_mode)) return fail(Errc::unsupported, path + ": not a regular file");
  Fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file && errno == EACCES && opener) file = TRY(opener(path));
  if (!file || ::fstat(file.get(), &status) != 0) return fail_errno(errno, path);
  if (!S_ISREG(status.st_mode)) return fail(Errc::unsupported, path + ": not a regular file");
  return LogFile(std::move(path), std::move(opener), std::move(file), status.st_dev, status.st_ino);
}

Result<std::uint64_t> LogFile::size() const {
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) return fail_errno(errno, path_);
  return static_cast<std::uint64_t>(std::max<off_t>(0, status.st_size));
}

bool LogFile::start_before_end(std::size_t bytes) {
  const std::uint64_t end = size().value_or(0);
  offset_ = end - std::min<std::uint64_t>(end, bytes);
  return offset_ > 0;
}

Result<std::string> LogFile::read_at(std::uint64_t offset, std::size_t limit) const {
  std::string text(limit, '\0');
  std::size_t filled = 0;
  while (filled < limit) {
    const ssize_t got =
        ::pread(file_.get(), text.data() + filled, limit - filled, static_cast<off_t>(offset + filled));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, path_);
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  text.resize(filled);
  return text;
}

bool LogFile::reopen() {
  struct stat status {};
  if (::stat(path_.c_str(), &status) != 0) return false;
  if (status.st_dev == device_ && status.st_ino == inode_) return false;
  auto other = open(path_, opener_);
  if (!other) return false;
  *this = *std::move(other);
  return true;
}

Result<LogFile::Piece> LogFile::read_new(std::size_t limit, std::size_t backlog) {
  Piece piece;
  std::uint64_t end = TRY(size());
  // The rest of a renamed file comes first.
  if (end == offset_ && reopen()) {
    piece.is_new_file = true;
    end = TRY(size());
  } else if (end < offset_) {
    offset_ = 0;
    piece.is_new_file = true;
  }
  if (end - offset_ > backlog) {
    piece.skipped = static_cast<std::size_t>(end - limit - offset_);
    offset_ = end - limit;
  }
  piece.bytes =
      TRY(read_at(offset_, static_cast<std::size_t>(std::min<std::uint64_t>(limit, end - offset_))));
  offset_ += piece.bytes.size();
  return piece;
}

Result<std::string> LogFile::read_end(std::size_t bytes) const {
  const std::uint64_t end = TRY(size());
  const std::uint64_t begin = end - std::min<std::uint64_t>(end, bytes);
  return read_at(begin, bytes);
}

WallTime LogFile::modified() const {
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) return {};
  return WallTime{std::chrono::seconds{status.st_mtim.tv_sec} +
                  std::chrono::nanoseconds{status.st_mtim.tv_nsec}};
}

}  // namespace autopilot::host
