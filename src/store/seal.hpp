// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/result.hpp"
#include "store/journal.hpp"
#include "store/sqlite.hpp"

// What stands in a journal about itself: how many commits made it, and a sum over what the verdict of a node
// depends on (held findings, open incidents, facts). SQLite does not see a flipped bit inside a row, and
// takes a log without its end for a whole one.
namespace autopilot::store {

// Inside the transaction that writes the batch; `commits` counts it.
[[nodiscard]] Status write_seal(sqlite::Connection& connection, const Batch& batch, std::uint64_t commits);

// 0: none was counted.
[[nodiscard]] Result<std::uint64_t> commits_of(const sqlite::Connection& connection);

// malformed when rows are not those that were written. A journal of an agent that wrote no sum is believed.
[[nodiscard]] Status check_sum(const sqlite::Connection& connection);

}  // namespace autopilot::store
