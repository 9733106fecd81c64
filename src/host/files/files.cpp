// SPDX-License-Identifier: Apache-2.0
#include "host/files/files.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <memory>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "core/parse.hpp"
#include "host/files/fd.hpp"

namespace autopilot::host {
namespace {

// What sysfs gives at most in one read, so that a value is never put together from two reads of it.
constexpr std::size_t kPage = 4096;
constexpr std::size_t kMaxEntries = 1 << 17;

Status check_path(std::string_view path) {
  if (!path.starts_with('/') || path.find('\0') != std::string_view::npos)
    return fail(Errc::internal, "not an absolute path: " + std::string(path));
  return {};
}

// Of a tree. Nothing: errno says why.
std::shared_ptr<const Fd> folder_of(const Files::Root& root) {
  if (root.folder) return root.folder;
  Fd folder(::open(root.path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  return folder ? std::make_shared<const Fd>(std::move(folder)) : nullptr;
}

// On the running machine the kernel's own rules apply. In a tree every link, also an absolute one, is
// followed inside the root.
Result<Fd> open_below(const Files::Root& root, std::string_view path, int flags) {
  TRY_STATUS(check_path(path));
  const std::string name(path);
  flags |= O_CLOEXEC;
  if (root.path.empty()) {
    Fd fd(::open(name.c_str(), flags));
    if (!fd) return fail_errno(errno, path);
    return fd;
  }
  const auto folder = folder_of(root);
  if (!folder) return fail_errno(errno, root.path);
  open_how how{};
  how.flags = static_cast<unsigned>(flags);
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  // Whenever anything on this machine is renamed meanwhile, the kernel cannot tell that ".." stayed inside,
  // and asks to try again.
  constexpr int kTries = 1000;
  for (int tries = 0; tries < kTries; ++tries) {
    Fd fd(static_cast<int>(::syscall(SYS_openat2, folder->get(), name.c_str(), &how, sizeof how)));
    if (fd) return fd;
    if (errno != EAGAIN) break;
  }
  return fail_errno(errno, path);
}

// Looks before it opens: opening a FIFO or a device of a hostile tree would already do something.
Result<Fd> open_regular(const Files::Root& root, std::string_view path) {
  const Fd place = TRY(open_below(root, path, O_PATH));
  struct stat status {};
  if (::fstat(place.get(), &status) != 0) return fail_errno(errno, path);
  if (S_ISDIR(status.st_mode)) return fail(Errc::malformed, std::string(path) + ": a directory, not a file");
  if (!S_ISREG(status.st_mode)) return fail(Errc::malformed, std::string(path) + ": not a regular file");
  const std::string reopen = "/proc/self/fd/" + std::to_string(place.get());
  Fd fd(::open(reopen.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd) return fail_errno(errno, path);
  return fd;
}

// Some files give whole rows only: where the next one finds no room, it looks like the end. A page has room
// for one, also behind a file that is as long as it may be.
Result<std::string> read_all(int fd, std::string_view path, std::size_t limit) {
  std::string text;
  std::array<char, kPage> page;
  while (true) {
    const ssize_t got = ::read(fd, page.data(), page.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, path);
    if (got == 0) return text;
    text.append(page.data(), static_cast<std::size_t>(got));
    if (text.size() > limit)
      return fail(Errc::exhausted, std::string(path) + ": longer than " + std::to_string(limit) + " bytes");
  }
}

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

// Where an open descriptor lies on the running machine.
Result<std::string> path_of(int fd, std::string_view path) {
  std::array<char, PATH_MAX> target{};
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t length = ::readlink(link.c_str(), target.data(), target.size());
  if (length < 0) return fail_errno(errno, path);
  return std::string(target.data(), static_cast<std::size_t>(length));
}

}  // namespace

Files::Files(std::string root, Gate gate, Reader reader)
    : root_{std::move(root), nullptr}, gate_(std::move(gate)), reader_(std::move(reader)) {
  if (is_tree()) root_.folder = folder_of(root_);
}

Result<std::string> Files::read(std::string_view path, std::size_t limit) const {
  if (gate_) TRY_STATUS(gate_(path));
  if (reader_.read && path.starts_with(reader_.folder)) return reader_.read(path);
  const Fd fd = TRY(open_regular(root_, path));
  return read_all(fd.get(), path, limit);
}

Result<std::string> Files::read_word(std::string_view path) const {
  const std::string text = TRY(read(path));
  const std::string_view word = trim(text);
  if (std::any_of(word.begin(), word.end(), is_control))
    return fail(Errc::malformed, std::string(path) + ": a control character in the text");
  return std::string(word);
}

Result<std::int64_t> Files::read_integer(std::string_view path) const {
  const std::string word = TRY(read_word(path));
  const bool hexadecimal = word.starts_with("0x") || word.starts_with("0X");
  const auto number =
      hexadecimal ? parse_number<std::int64_t>(word.substr(2), 16) : parse_number<std::int64_t>(word);
  if (!number || (hexadecimal && *number < 0))
    return fail(Errc::malformed, std::string(path) + ": not an integer: \"" + word.substr(0, 40) + "\"");
  return *number;
}

Result<std::vector<std::string>> Files::list(std::string_view directory) const {
  if (gate_) TRY_STATUS(gate_(directory));
  Fd fd = TRY(open_below(root_, directory, O_RDONLY | O_DIRECTORY | O_NONBLOCK));
  const auto close = [](DIR* stream) { ::closedir(stream); };
  const std::unique_ptr<DIR, decltype(close)> stream(::fdopendir(fd.get()), close);
  if (!stream) return fail_errno(errno, directory);
  static_cast<void>(fd.release());
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(stream.get())) {
    std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(std::move(name));
    if (names.size() > kMaxEntries)
      return fail(Errc::exhausted,
                  std::string(directory) + ": more than " + std::to_string(kMaxEntries) + " entries");
    errno = 0;
  }
  if (errno != 0) return fail_errno(errno, directory);
  std::sort(names.begin(), names.end());
  return names;
}

bool Files::exists(std::string_view path) const {
  return open_below(root_, path, O_PATH).has_value();
}

Result<Fd> Files::find(std::string_view path) const {
  return open_below(root_, path, O_PATH);
}

Result<std::string> Files::resolve(std::string_view path) const {
  const Fd fd = TRY(open_below(root_, path, O_PATH));
  std::string real = TRY(path_of(fd.get(), path));
  if (!is_tree()) return real;
  const auto folder = folder_of(root_);
  if (!folder) return fail_errno(errno, root_.path);
  const std::string base_path = TRY(path_of(folder->get(), root_.path));
  if (base_path == "/") return real;
  AUTOPILOT_ASSERT(real.starts_with(base_path));
  real.erase(0, base_path.size());
  return real.empty() ? "/" : real;
}

}  // namespace autopilot::host
