// SPDX-License-Identifier: Apache-2.0
#include "host/files/files.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdlib>
#include <cstring>
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

// Of a tree. Nothing: errno has the cause.
std::shared_ptr<const Fd> folder_of(const Files::Root& root) {
  if (root.folder) return root.folder;
  Fd folder(::open(root.path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
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
  // Whenever anything on this machine is renamed meanwhile, the kernel cannot prove that ".." stayed inside,
  // and asks to try again.
  constexpr int kTries = 1000;
  for (int tries = 0; tries < kTries; ++tries) {
    Fd fd(static_cast<int>(::syscall(SYS_openat2, folder->get(), name.c_str(), &how, sizeof how)));
    if (fd) return fd;
    if (errno != EAGAIN) break;
  }
  return fail_errno(errno, path);
}

// Checks before it opens: opening a FIFO or a device of a hostile tree would already do something.
Status check_regular(const Fd& fd, std::string_view path) {
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return fail_errno(errno, path);
  if (S_ISDIR(status.st_mode)) return fail(Errc::malformed, std::string(path) + ": a directory, not a file");
  if (!S_ISREG(status.st_mode)) return fail(Errc::malformed, std::string(path) + ": not a regular file");
  return {};
}

// Where the kernel itself makes the files there is no device that an open does something to, and a run reads
// hundreds of them.
bool has_no_devices(std::string_view path) {
  return path.starts_with("/sys/") && path.find("/..") == std::string_view::npos;
}

Result<Fd> open_regular(const Files::Root& root, std::string_view path) {
  constexpr int kRead = O_RDONLY | O_NONBLOCK | O_NOCTTY;
  if (has_no_devices(path)) {
    Fd fd = TRY(open_below(root, path, kRead));
    TRY_STATUS(check_regular(fd, path));
    return fd;
  }
  const Fd place = TRY(open_below(root, path, O_PATH));
  TRY_STATUS(check_regular(place, path));
  const std::string reopen = "/proc/self/fd/" + std::to_string(place.get());
  Fd fd(::open(reopen.c_str(), kRead | O_CLOEXEC));
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

Result<std::string> read_first(int fd, std::string_view path, std::size_t bytes) {
  std::string text(bytes, '\0');
  std::size_t length = 0;
  while (length < bytes) {
    const ssize_t got = ::read(fd, text.data() + length, bytes - length);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, path);
    if (got == 0) break;
    length += static_cast<std::size_t>(got);
  }
  text.resize(length);
  return text;
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

// `block` is what getdents64 gave.
void add_names(std::string_view block, std::vector<std::string>& names) {
  constexpr std::size_t kNameAt = offsetof(dirent64, d_name);
  while (block.size() > kNameAt) {
    dirent64 entry{};
    std::memcpy(&entry, block.data(), kNameAt);
    const std::string_view name = block.data() + kNameAt;
    if (name != "." && name != "..") names.emplace_back(name);
    block.remove_prefix(std::min<std::size_t>(entry.d_reclen, block.size()));
  }
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

Result<std::string> Files::read_beginning(std::string_view path, std::size_t bytes) const {
  if (gate_) TRY_STATUS(gate_(path));
  if (reader_.read && path.starts_with(reader_.folder)) {
    std::string text = TRY(reader_.read(path));
    text.resize(std::min(text.size(), bytes));
    return text;
  }
  const Fd fd = TRY(open_regular(root_, path));
  return read_first(fd.get(), path, bytes);
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
  const Fd fd = TRY(open_below(root_, directory, O_RDONLY | O_DIRECTORY | O_NONBLOCK));
  std::vector<std::string> names;
  // Not readdir, whose 32 KiB come from the allocator at each call.
  alignas(dirent64) std::array<char, kPage> block{};
  while (true) {
    const ssize_t length = ::getdents64(fd.get(), block.data(), block.size());
    if (length < 0) return fail_errno(errno, directory);
    if (length == 0) break;
    add_names({block.data(), static_cast<std::size_t>(length)}, names);
    if (names.size() > kMaxEntries)
      return fail(Errc::exhausted,
                  std::string(directory) + ": more than " + std::to_string(kMaxEntries) + " entries");
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::vector<std::string>> Files::list_sysfs(std::string_view directory) const {
  auto names = list(directory);
  if (names || names.error().code != Errc::not_found) return names;
  if (exists("/sys")) return std::vector<std::string>{};
  return fail(Errc::unavailable, names.error().what);
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
