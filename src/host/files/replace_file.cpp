// SPDX-License-Identifier: Apache-2.0
#include "host/files/replace_file.hpp"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

#include "host/files/fd.hpp"

namespace autopilot::host {
namespace {

constexpr mode_t kReplacedMode = 0600;

Status write_durably(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail_errno(errno, path);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::fsync(fd) != 0) return fail_errno(errno, path);
  return {};
}

// The name of a new file is durable when its folder is.
Status sync_folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path();
  const Fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0) return fail_errno(errno, folder);
  return {};
}

// root writes for the user of the agent, which must be able to read it.
void give_to_owner(int fd, const std::string& folder) {
  struct stat info {};
  if (::stat(folder.c_str(), &info) == 0 && info.st_uid != ::geteuid())
    static_cast<void>(::fchown(fd, info.st_uid, info.st_gid));
}

}  // namespace

Status replace_file(const std::string& path, std::string_view text) {
  const std::string next = path + ".next";
  {
    const Fd fd(::open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, kReplacedMode));
    if (!fd) return fail_errno(errno, next);
    give_to_owner(fd.get(), std::filesystem::path(path).parent_path());
    TRY_STATUS(write_durably(fd.get(), text, next));
  }
  if (std::rename(next.c_str(), path.c_str()) != 0) return fail_errno(errno, path);
  return sync_folder_of(path);
}

}  // namespace autopilot::host
