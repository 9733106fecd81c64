// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <ctime>
#include <dlfcn.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/types.h>

// Replacements for functions that newer glibc versions have and the oldest supported glibc lacks
// (docs/adr/0029). Each behaves like the glibc function named in its comment, on every version. Every build
// tests them; only portable builds define the glibc names (names.cpp).
namespace autopilot::portability {

// _dl_find_object (2.35): the object loaded at the address, for the unwinder of GCC 12, which has no
// fallback. Returns 0, or -1 if no object is loaded there. Calls the loader only if the address is outside
// the program or library that contains this code. Allocates nothing and throws nothing.
[[nodiscard]] int find_object(void* address, dl_find_object* found) noexcept;

// pthread_cond_clockwait (2.30): waits until the deadline on this clock; on CLOCK_MONOTONIC a change of the
// date has no effect. After a wait on CLOCK_MONOTONIC do not use pthread_cond_timedwait on the same
// condition.
[[nodiscard]] int wait_by_clock(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                const timespec* deadline);

// arc4random (2.36): random bits from the kernel. Aborts if the kernel provides none, as glibc does.
[[nodiscard]] unsigned int random_word() noexcept;

// posix_spawn_file_actions_addclosefrom_np (2.34). Closes in the child the descriptors that are open now. A
// descriptor that another thread opens without O_CLOEXEC before posix_spawn remains open.
[[nodiscard]] int add_close_from(posix_spawn_file_actions_t* actions, int first);

// sigdescr_np (2.32): nullptr if the number is not a signal with its own name.
[[nodiscard]] const char* describe_signal(int number) noexcept;

// getdents64 (2.30).
[[nodiscard]] ssize_t read_entries(int folder, void* buffer, std::size_t bytes) noexcept;

}  // namespace autopilot::portability
