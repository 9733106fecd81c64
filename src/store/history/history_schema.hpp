// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "store/sqlite.hpp"

// The file of history: its tables, and what is checked when it is opened.
namespace autopilot::store {

// `path` is for errors. Errors as History::open; not_found: read-only, and the file has no content.
[[nodiscard]] Result<sqlite::Connection> open_history_for_writing(const std::string& path, WallTime now);
[[nodiscard]] Result<sqlite::Connection> open_history_for_reading(const std::string& path,
                                                                  sqlite::Access access);

}  // namespace autopilot::store
