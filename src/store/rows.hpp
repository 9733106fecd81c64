// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/result.hpp"
#include "store/journal.hpp"
#include "store/sqlite.hpp"

namespace autopilot::store {

[[nodiscard]] inline std::int64_t to_column(WallTime time) {
  return time.time_since_epoch().count();
}

// Runs inside a transaction of the caller. Returns the ids of the events.
[[nodiscard]] Result<std::vector<std::uint64_t>> write_rows(sqlite::Connection& connection,
                                                            const Batch& batch);

// Size at which the log is copied back into the file and truncated. A single commit can be longer.
inline constexpr std::int64_t kLogBytes = std::int64_t{1} << 20;

// Copies the log back into the file and truncates it, which frees its space for the next transaction.
[[nodiscard]] Status cut_log(sqlite::Connection& connection);

// Deletes by age, then by size of file and log together, in short transactions of its own.
[[nodiscard]] Status delete_expired(sqlite::Connection& connection, const Retention& retention, WallTime now);

}  // namespace autopilot::store
