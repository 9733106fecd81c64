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

// Inside a transaction of the caller's. Gives the events' ids.
[[nodiscard]] Result<std::vector<std::uint64_t>> write_rows(sqlite::Connection& connection,
                                                            const Batch& batch);

// The log is copied back into the file once it has so many bytes, and cut to so many. A single commit may be
// longer.
inline constexpr std::int64_t kLogBytes = std::int64_t{1} << 20;

// Copies the log back into the file and cuts it: its room is the next transaction's.
[[nodiscard]] Status cut_log(sqlite::Connection& connection);

// Deletes by age, then by size, in transactions of its own, each short. File and log together fit.
[[nodiscard]] Status delete_expired(sqlite::Connection& connection, const Retention& retention, WallTime now);

}  // namespace autopilot::store
