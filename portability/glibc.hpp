// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <ctime>
#include <dlfcn.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/types.h>

// What newer versions of glibc have and the oldest one that programs are made portable to has not
// (docs/adr/0029). Each does what the function of glibc does whose name stands above it, on every version.
// All tests of it run with every build; the names themselves are given to the linker in portable builds alone
// (names.cpp).
namespace autopilot::portability {

// _dl_find_object (2.35): what is loaded at the address, for the unwinder of GCC 12, which has no fallback.
// 0, or -1 where nothing is. Asks the loader only where the address is not in the program or library that
// this is linked into, allocates nothing and throws nothing.
[[nodiscard]] int find_object(void* address, dl_find_object* found) noexcept;

// pthread_cond_clockwait (2.30): waits until the deadline on this clock, not moved by a change of the date.
// A condition that was once waited for on CLOCK_MONOTONIC is not to be waited for with
// pthread_cond_timedwait.
[[nodiscard]] int wait_by_clock(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                const timespec* deadline);

// arc4random (2.36): from the kernel, as there. Aborts where it has none, as there.
[[nodiscard]] unsigned int random_word() noexcept;

// posix_spawn_file_actions_addclosefrom_np (2.34). What is open now is closed in the child; what another
// thread opens between this and posix_spawn, without O_CLOEXEC, is not.
[[nodiscard]] int add_close_from(posix_spawn_file_actions_t* actions, int first);

// sigdescr_np (2.32): nullptr where the number is no signal with a name of its own.
[[nodiscard]] const char* describe_signal(int number) noexcept;

// getdents64 (2.30).
[[nodiscard]] ssize_t read_entries(int folder, void* buffer, std::size_t bytes) noexcept;

}  // namespace autopilot::portability
