// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/result.hpp"
#include "store/journal.hpp"
#include "store/sqlite.hpp"

// Data in a journal about itself: the number of its commits, and a checksum of the rows that the verdict of a
// node depends on (held findings, open incidents, facts). SQLite does not detect a flipped bit inside a row,
// and accepts a truncated log as complete.
namespace autopilot::store {

// Runs inside the transaction that writes the batch; `commits` includes it.
[[nodiscard]] Status write_seal(sqlite::Connection& connection, const Batch& batch, std::uint64_t commits);

// 0: the journal has no count.
[[nodiscard]] Result<std::uint64_t> commits_of(const sqlite::Connection& connection);

// malformed: rows changed after they were written. A journal without a checksum, from an older agent, is
// accepted.
[[nodiscard]] Status check_sum(const sqlite::Connection& connection);

}  // namespace autopilot::store
