// SPDX-License-Identifier: Apache-2.0
#include "host/files/own_folder.hpp"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <iostream>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

#include "core/result.hpp"
#include "host/files/fd.hpp"

namespace autopilot::host {
namespace {

constexpr mode_t kFolderMode = 0700;
constexpr mode_t kFileMode = 0600;

// By its descriptor, wherever the folder is by now.
std::filesystem::path entry_of(const Fd& folder) {
  return "/proc/self/fd/" + std::to_string(folder.get());
}

// `path` without the first slash; only real folders are passed through.
Fd open_strictly(const Fd& folder, const std::string& path, int flags, mode_t mode) {
  open_how how{};
  how.flags = static_cast<unsigned>(flags | O_CLOEXEC | O_NOFOLLOW);
  how.mode = mode;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return Fd(static_cast<int>(::syscall(SYS_openat2, folder.get(), path.c_str(), &how, sizeof how)));
}

std::string name_of(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

Status write_all(const Fd& file, std::string_view text, const std::string& shown) {
  while (!text.empty()) {
    const ssize_t written = ::write(file.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail_errno(errno, shown);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace

Result<OwnFolder> OwnFolder::create(const std::string& path) {
  if (::mkdir(path.c_str(), kFolderMode) != 0 && errno != EEXIST) return fail_errno(errno, path);
  Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder && (errno == ENOTDIR || errno == ELOOP))
    return fail(Errc::conflict,
                path + ": is a file or a symbolic link; name a folder that does not exist yet");
  if (!folder) return fail_errno(errno, path);
  struct stat status {};
  if (::fstat(folder.get(), &status) != 0) return fail_errno(errno, path);
  if (status.st_uid != ::geteuid())
    return fail(Errc::denied,
                path + ": belongs to another user (" + std::to_string(status.st_uid) +
                    "), and that user can put files there; name a folder that does not exist yet");
  // From here on no other user can put anything there.
  if (::fchmod(folder.get(), kFolderMode) != 0) return fail_errno(errno, path);
  std::error_code error;
  const bool is_empty = std::filesystem::is_empty(entry_of(folder), error);
  if (error) return fail_errno(error.value(), path);
  if (!is_empty) return fail(Errc::conflict, path + ": exists and is not empty");
  return OwnFolder(path, std::move(folder));
}

Result<Fd> OwnFolder::folder(std::string_view path) {
  constexpr int kFolder = O_PATH | O_DIRECTORY;
  const std::string below = path.empty() ? "." : std::string(path.substr(1));
  Fd found = open_strictly(folder_, below, kFolder, 0);
  if (found) return found;
  if (errno != ENOENT) return fail_errno(errno, shown(path));
  const Fd above = TRY(parent(path));
  if (::mkdirat(above.get(), name_of(path).c_str(), kFolderMode) != 0) return fail_errno(errno, shown(path));
  found = open_strictly(above, name_of(path), kFolder, 0);
  if (!found) return fail_errno(errno, shown(path));
  return found;
}

Status OwnFolder::write(std::string_view path, std::string_view text) {
  const Fd above = TRY(parent(path));
  const Fd file = open_strictly(above, name_of(path), O_WRONLY | O_CREAT | O_EXCL, kFileMode);
  if (!file) return fail_errno(errno, shown(path));
  return write_all(file, text, shown(path));
}

Status OwnFolder::link(std::string_view path, const std::string& target) {
  const Fd above = TRY(parent(path));
  if (::symlinkat(target.c_str(), above.get(), name_of(path).c_str()) != 0)
    return fail_errno(errno, shown(path));
  return {};
}

Status OwnFolder::make_folder(std::string_view path) {
  (void)TRY(folder(path));
  return {};
}

void OwnFolder::clear() {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(entry_of(folder_), ignored))
    std::filesystem::remove_all(entry.path(), ignored);
}

namespace {

constexpr int kExitUsage = 64;
constexpr int kExitFailed = 70;
constexpr mode_t kOwnerAndGroup = 0770;

Status share_folder(const std::string& path) {
  const Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) return fail_errno(errno, path);
  if (::fchown(folder.get(), static_cast<uid_t>(-1), ::getegid()) != 0 ||
      ::fchmod(folder.get(), kOwnerAndGroup) != 0)
    return fail_errno(errno, path + ": its group and mode");
  return {};
}

}  // namespace

int run_share_folder(const std::vector<std::string>& arguments) {
  if (arguments.size() != 1 || !arguments.front().starts_with('/')) {
    std::cerr << "autopilot helper share_folder: expected /PATH\n";
    return kExitUsage;
  }
  const auto shared = share_folder(arguments.front());
  if (shared) return 0;
  std::cerr << "autopilot helper share_folder: " << shared.error().what << "\n";
  return kExitFailed;
}

}  // namespace autopilot::host
