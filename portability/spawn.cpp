// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <charconv>
#include <cstring>
#include <dirent.h>
#include <memory>
#include <system_error>

#include "portability/glibc.hpp"

namespace autopilot::portability {
namespace {

struct CloseFolder {
  void operator()(DIR* folder) const noexcept { ::closedir(folder); }
};

}  // namespace

int add_close_from(posix_spawn_file_actions_t* actions, int first) {
  const std::unique_ptr<DIR, CloseFolder> folder(::opendir("/proc/self/fd"));
  if (!folder) return errno;
  while (const dirent* entry = ::readdir(folder.get())) {
    int number = -1;
    const char* name = entry->d_name;
    if (std::from_chars(name, name + std::strlen(name), number).ec != std::errc()) continue;
    if (number < first || number == ::dirfd(folder.get())) continue;
    // A descriptor that is closed before the child starts causes no error.
    const int error = ::posix_spawn_file_actions_addclose(actions, number);
    if (error != 0) return error;
  }
  return 0;
}

}  // namespace autopilot::portability
