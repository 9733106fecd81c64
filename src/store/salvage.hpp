// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/result.hpp"
#include "store/sqlite.hpp"

namespace autopilot::store {

// A journal in memory, of this version, with every row that can still be read of the file: a damaged one, one
// of a newer version (of its tables, what this version knows), or one that may not be written. Of the events
// only the newest kMaxSalvagedEvents. Touches nothing on the disk, but that SQLite may put its shared index
// beside the file. Errors: not_found where there is none; else nothing of it can be read.
inline constexpr int kMaxSalvagedEvents = 2048;
[[nodiscard]] Result<sqlite::Connection> salvage(const std::string& path);

}  // namespace autopilot::store
