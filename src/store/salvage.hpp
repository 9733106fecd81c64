// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/result.hpp"
#include "store/sqlite.hpp"

namespace autopilot::store {

// A journal in memory, of this version, with every row of the file that is readable. The file can be damaged,
// not writable, or of a newer version (then only the tables that this version knows). Of the events only the
// newest kMaxSalvagedEvents are kept. Does not change the disk, except that SQLite can create its shared
// index beside the file. Errors: not_found if the file is missing; other errors if nothing is readable.
inline constexpr int kMaxSalvagedEvents = 2048;
[[nodiscard]] Result<sqlite::Connection> salvage(const std::string& path);

}  // namespace autopilot::store
