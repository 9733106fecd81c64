// SPDX-License-Identifier: Apache-2.0
#include "host/scripts/trusted_program.hpp"

#include <cerrno>
#include <sys/stat.h>

namespace autopilot::host {
namespace {

Status check_owner(const std::string& path, const struct stat& status, uid_t user) {
  if (status.st_uid != 0 && status.st_uid != user)
    return fail(Errc::unavailable, path + " belongs to user " + std::to_string(status.st_uid) +
                                       ", who could change what is executed; chown it to root");
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return fail(Errc::unavailable, path + " can be written by others than its owner; chmod go-w it");
  return {};
}

}  // namespace

Status check_trusted_program(const std::string& path, uid_t user) {
  if (!path.starts_with('/')) return fail(Errc::unavailable, path + " is no absolute path");
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    struct stat status {};
    if (::lstat(part.c_str(), &status) != 0) return fail_errno(errno, part);
    if (S_ISLNK(status.st_mode)) return fail(Errc::unavailable, part + " is a link; name the file itself");
    TRY_STATUS(check_owner(part, status, user));
    if (end != std::string::npos) continue;
    if (!S_ISREG(status.st_mode)) return fail(Errc::unavailable, part + " is no file");
    if ((status.st_mode & S_IXUSR) == 0)
      return fail(Errc::unavailable, part + " is not executable; chmod +x it");
    return {};
  }
}

}  // namespace autopilot::host
