// SPDX-License-Identifier: Apache-2.0
#include "host/files/tree_file.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace autopilot::host {

Result<Fd> find_in_tree(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const Fd folder(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return fail_errno(errno, path);
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  Fd found(static_cast<int>(::syscall(SYS_openat2, folder.get(), name.c_str(), &how, sizeof how)));
  if (!found && errno == ELOOP)
    return fail(Errc::malformed,
                path + ": a symbolic link; only files below root/ of a machine tree may be links");
  if (!found) return fail_errno(errno, path);
  return found;
}

Result<Fd> open_tree_file(const std::string& path) {
  const Fd place = TRY(find_in_tree(path));
  struct stat status {};
  if (::fstat(place.get(), &status) != 0) return fail_errno(errno, path);
  if (!S_ISREG(status.st_mode)) return fail(Errc::malformed, path + ": not a regular file");
  const std::string reopen = "/proc/self/fd/" + std::to_string(place.get());
  Fd file(::open(reopen.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file) return fail_errno(errno, path);
  return file;
}

Result<std::string> read_tree_file(const std::string& path, std::size_t limit) {
  return read_tree_file(TRY(open_tree_file(path)), path, limit);
}

Result<std::string> read_tree_file(const Fd& file, const std::string& path, std::size_t limit) {
  std::string text;
  std::array<char, 4096> some{};
  for (;;) {
    const ssize_t got = ::read(file.get(), some.data(), some.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, path);
    if (got == 0) return text;
    text.append(some.data(), static_cast<std::size_t>(got));
    if (text.size() > limit)
      return fail(Errc::exhausted, path + ": longer than " + std::to_string(limit) + " bytes");
  }
}

}  // namespace autopilot::host
