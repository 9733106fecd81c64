// SPDX-License-Identifier: Apache-2.0
#include "host/process/allocator.hpp"

#include <malloc.h>

namespace autopilot::host {
namespace {

// By default each thread may get an arena of its own, and every large block that is freed raises the size up
// to which blocks are kept.
constexpr int kArenas = 1;
constexpr int kKeptBytes = 128 * 1024;
// Small blocks that were freed are joined with their neighbours at once. Otherwise each large block, asked
// for or freed, looks through all of them.
constexpr int kUnjoinedBytes = 0;

}  // namespace

void keep_allocator_small() {
  (void)::mallopt(M_ARENA_MAX, kArenas);
  (void)::mallopt(M_MMAP_THRESHOLD, kKeptBytes);
  (void)::mallopt(M_MXFAST, kUnjoinedBytes);
  (void)::mallopt(M_TRIM_THRESHOLD, kKeptBytes);
}

void return_unused_memory() {
  (void)::malloc_trim(0);
}

}  // namespace autopilot::host
