// SPDX-License-Identifier: Apache-2.0
#include "store/journal_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <system_error>
#include <unistd.h>
#include <vector>

#include "core/parse.hpp"
#include "store/journal.hpp"

namespace autopilot::store {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAsideMark = ".unusable-";
// Files that SQLite creates beside a database; -journal only while it creates a new one.
constexpr std::array<std::string_view, 3> kCompanions{"-wal", "-shm", "-journal"};
// SQLite treats a shorter file as empty and would overwrite it.
constexpr off_t kHeaderBytes = 100;

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

bool exists(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

Status move(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return fail_errno(errno, from);
  return {};
}

void sync_folder(const std::string& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  static_cast<void>(::fsync(fd));
  ::close(fd);
}

// "journal.db.unusable-20261121T030405Z", or with the suffix "-2" and so on if that name exists.
Result<std::string> free_aside_name(const std::string& path, WallTime now) {
  std::string stamp = format_time(now).substr(0, 19) + "Z";
  std::erase_if(stamp, [](char c) { return c == '-' || c == ':'; });
  const std::string name = path + std::string(kAsideMark) + stamp;
  constexpr int kTries = 1000;
  for (int number = 1; number < kTries; ++number) {
    std::string candidate = number == 1 ? name : name + '-' + std::to_string(number);
    if (!exists(candidate)) return candidate;
  }
  return fail(Errc::exhausted, name + ": too many files of that name");
}

bool is_companion(const std::string& name) {
  return std::ranges::any_of(kCompanions, [&](std::string_view ending) { return name.ends_with(ending); });
}

// Oldest first, by modification time.
std::vector<std::string> kept_aside(const std::string& path) {
  std::vector<std::pair<fs::file_time_type, std::string>> found;
  const std::string prefix = path.substr(path.rfind('/') + 1) + std::string(kAsideMark);
  std::error_code error;
  for (auto entry = fs::directory_iterator(folder_of(path), error);
       !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const auto name = entry->path().filename().string();
    std::error_code ignored;
    if (name.starts_with(prefix) && !is_companion(name))
      found.emplace_back(entry->last_write_time(ignored), entry->path().string());
  }
  std::ranges::sort(found);
  std::vector<std::string> names;
  for (auto& [time, name] : found)
    names.push_back(std::move(name));
  return names;
}

void remove_oldest_aside(const std::string& path, const std::string& newest) {
  auto names = kept_aside(path);
  std::erase(names, newest);
  std::error_code ignored;
  for (std::size_t i = 0; i + Journal::kMaxAside <= names.size(); ++i) {
    fs::remove_all(names[i], ignored);
    for (const auto ending : kCompanions)
      fs::remove(names[i] + std::string(ending), ignored);
  }
}

constexpr std::size_t kDigits = 20;
constexpr std::string_view kCurrent = " current\n";
constexpr std::string_view kBehind = " behind \n";
static_assert(kDigits + kCurrent.size() == kJournalMarkBytes && kBehind.size() == kCurrent.size());

}  // namespace

Result<FileLock> FileLock::acquire(const std::string& path) {
  constexpr int kFlags = O_RDWR | O_CLOEXEC | O_NOFOLLOW;
  int fd = ::open(path.c_str(), kFlags);
  const bool is_new = fd < 0 && errno == ENOENT;
  if (is_new) fd = ::open(path.c_str(), kFlags | O_CREAT, 0600);
  if (fd < 0) return fail_errno(errno, path);
  FileLock lock(fd, is_new);
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return fail(Errc::conflict, path + ": locked by another process");
    return fail_errno(errno, path);
  }
  return lock;
}

FileLock::~FileLock() {
  if (fd_ >= 0) ::close(fd_);
}

Result<std::optional<JournalMark>> FileLock::mark() const {
  std::array<char, kJournalMarkBytes + 1> text{};
  const ssize_t size = ::pread(fd_, text.data(), text.size(), 0);
  if (size < 0) return fail_errno(errno, "the journal's lock file");
  if (size == 0) return std::nullopt;
  return TRY(parse_journal_mark({text.data(), static_cast<std::size_t>(size)}));
}

void FileLock::set_mark(const JournalMark& mark) {
  const std::string text = format_journal_mark(mark);
  static_cast<void>(::pwrite(fd_, text.data(), text.size(), 0));
}

Status make_folder_of(const std::string& path) {
  const std::string folder = folder_of(path);
  for (std::size_t end = 0; end != std::string::npos;) {
    end = folder.find('/', end + 1);
    const std::string part = folder.substr(0, end);
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST && errno != EISDIR)
      return fail_errno(errno, part);
  }
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) return fail_errno(errno, folder);
  if (!S_ISDIR(status.st_mode)) return fail(Errc::denied, folder + ": not a folder");
  return {};
}

Status make_file(const std::string& path, WallTime now) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) {
    if (!S_ISREG(status.st_mode)) return fail(Errc::malformed, path + ": not a file");
    if (status.st_size > 0 && status.st_size < kHeaderBytes)
      return fail(Errc::malformed, path + ": the file is too short to be a journal");
    return {};
  }
  if (errno != ENOENT) return fail_errno(errno, path);
  const std::string log = path + std::string(kCompanions[0]);
  if (exists(log)) TRY_STATUS(move(log, TRY(free_aside_name(path, now)) + std::string(kCompanions[0])));
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return fail_errno(errno, path);
  ::close(fd);
  sync_folder(folder_of(path));
  return {};
}

bool has_little_room(const std::string& path, std::int64_t bytes) {
  struct statvfs status {};
  if (::statvfs(path.c_str(), &status) != 0) return false;
  return status.f_bavail < static_cast<std::uint64_t>(bytes) / status.f_frsize;
}

FileIdentity identity_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {};
  return {status.st_dev, status.st_ino};
}

Result<std::string> Journal::move_aside(const std::string& path, WallTime now) {
  const auto name = TRY(free_aside_name(path, now));
  TRY_STATUS(move(path, name));
  for (const auto ending : kCompanions)
    if (exists(path + std::string(ending)))
      TRY_STATUS(move(path + std::string(ending), name + std::string(ending)));
  remove_oldest_aside(path, name);
  sync_folder(folder_of(path));
  return name;
}

std::string format_journal_mark(const JournalMark& mark) {
  std::string digits = std::to_string(mark.commits);
  digits.insert(0, kDigits - digits.size(), '0');
  return digits.append(mark.is_behind ? kBehind : kCurrent);
}

Result<JournalMark> parse_journal_mark(std::string_view text) {
  const auto commits = parse_number<std::uint64_t>(text.substr(0, kDigits));
  const auto state = text.substr(std::min(text.size(), kDigits));
  if (text.size() != kJournalMarkBytes || !commits || (state != kCurrent && state != kBehind))
    return fail(Errc::malformed, "the journal's lock: its mark is damaged");
  return JournalMark{*commits, state == kBehind};
}

}  // namespace autopilot::store
