// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace autopilot::host {

// For a process that lives for months and is mostly idle: the C library's allocator keeps less in reserve for
// threads and gives large blocks back when they are freed. Call it before the first thread starts.
void keep_allocator_small();

// Gives back to the kernel what lies unused between blocks in use, after a storm for example. Takes about a
// millisecond.
void return_unused_memory();

}  // namespace autopilot::host
