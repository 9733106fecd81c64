// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// All database files of this process use a layer that fails on request, and that never waits for the real
// disk: written data remains, as after the death of a process.
namespace autopilot::simulation {

enum class DiskFault : std::uint8_t { none, full, read_only, io_error };

// Before the first database is opened; once.
void install_faulty_disk();

// From the write after `writes` further ones on, all of them fail. Thread-safe.
void set_disk_fault(DiskFault fault, std::uint64_t writes = 0);

}  // namespace autopilot::simulation
