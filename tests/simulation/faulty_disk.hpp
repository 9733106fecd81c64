// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// The files of every database of this process go through a layer that fails as told, and that never waits for
// the real disk: what was written is there, as after the death of a process.
namespace autopilot::simulation {

enum class DiskFault : std::uint8_t { none, full, read_only, io_error };

// Before the first database is opened; once.
void install_faulty_disk();

// From the write after `writes` further ones on, all of them fail. Thread-safe.
void set_disk_fault(DiskFault fault, std::uint64_t writes = 0);

}  // namespace autopilot::simulation
