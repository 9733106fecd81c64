// SPDX-License-Identifier: Apache-2.0
// glibc names that the oldest supported glibc lacks. They are visible only inside the program or library that
// contains this code, because the folder is compiled with hidden visibility.
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <dlfcn.h>

#include "portability/glibc.hpp"

namespace autopilot::portability {
namespace {

// The function of glibc if it has one, else ours. For functions that depend on internals of glibc, or do less
// than the glibc function.
template <typename Function>
Function* newest(const char* name, Function* ours) {
  void* found = ::dlsym(RTLD_DEFAULT, name);
  return found == nullptr ? ours : reinterpret_cast<Function*>(found);
}

}  // namespace
}  // namespace autopilot::portability

// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming): names
// of glibc

// Since 2.32 glibc sets this flag while the process has one thread, and libstdc++ then counts references
// without atomic operations. It is always 0 here, so libstdc++ always uses atomic operations.
extern "C" {
char __libc_single_threaded = 0;
}

extern "C" int _dl_find_object(void* address, dl_find_object* result) noexcept {
  return autopilot::portability::find_object(address, result);
}

extern "C" int pthread_cond_clockwait(pthread_cond_t* cond, pthread_mutex_t* mutex, clockid_t clock_id,
                                      const timespec* abstime) {
  static auto* const wait =
      autopilot::portability::newest("pthread_cond_clockwait", autopilot::portability::wait_by_clock);
  return wait(cond, mutex, clock_id, abstime);
}

extern "C" unsigned int arc4random() noexcept {
  return autopilot::portability::random_word();
}

extern "C" int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t* actions,
                                                        int from) noexcept {
  static auto* const add = autopilot::portability::newest("posix_spawn_file_actions_addclosefrom_np",
                                                          autopilot::portability::add_close_from);
  return add(actions, from);
}

extern "C" const char* sigdescr_np(int sig) noexcept {
  return autopilot::portability::describe_signal(sig);
}

extern "C" ssize_t getdents64(int fd, void* buffer, std::size_t length) noexcept {
  return autopilot::portability::read_entries(fd, buffer, length);
}

// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)
