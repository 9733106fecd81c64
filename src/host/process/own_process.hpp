// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "core/result.hpp"

namespace autopilot::host {

// For a process that lives for months and is mostly idle: the C library's allocator keeps less in reserve for
// threads and gives large blocks back when they are freed. Call it before the first thread starts.
void keep_allocator_small();

// Gives back to the kernel what lies unused between blocks in use, after a storm for example. Takes about a
// millisecond.
void return_unused_memory();

// For a process that lives for months: its code and constants are mapped no longer, and what is still needed
// is mapped again at its next use, from the page cache. What only the start needed stays out. Data that a
// program may write, or that was relocated, is left as it is. Takes a fraction of a millisecond. From any
// thread.
void unmap_own_code();

// For a process with many connections: as many open files as the hard limit permits. The soft limit is often
// 1,024.
void raise_open_files();

// Capabilities as a set of bits, by the numbers of <linux/capability.h>.
using Capabilities = std::uint64_t;

inline constexpr Capabilities kNoCapabilities = 0;
inline constexpr Capabilities kReadKernelLog = Capabilities{1} << 34;  // CAP_SYSLOG
// CAP_SYS_ADMIN for setns(2), and CAP_SYS_PTRACE to open the namespaces of processes of other users.
inline constexpr Capabilities kEnterNamespaces = Capabilities{1} << 21 | Capabilities{1} << 19;

// Gives up all others, for ever: programs that are started get none, also as root and from their files. For
// the calling thread and what it starts: the process must have one.
[[nodiscard]] Status keep_capabilities(Capabilities kept);

// If this process is root, and the file belongs to another user, becomes that user and its group for good:
// what it then creates beside the file belongs to that user. Of a missing file, the owner of the nearest
// folder above counts. True: it did. Errors: denied, or those of the file system. For the whole process: call
// it before the first thread starts.
[[nodiscard]] Result<bool> become_owner_of(const std::string& path);

// A file that is opened later must not get the number of a standard stream that the caller has closed: until
// then nothing is there to read, and writing fails. Call it first.
void keep_standard_streams_taken();

}  // namespace autopilot::host
