// SPDX-License-Identifier: Apache-2.0
#include "host/files/share_folder.hpp"

#include <cerrno>
#include <fcntl.h>
#include <iostream>
#include <sys/stat.h>
#include <unistd.h>

#include "core/result.hpp"
#include "host/files/fd.hpp"

namespace autopilot::host {
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
