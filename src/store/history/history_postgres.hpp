// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/result.hpp"
#include "store/history/history_database.hpp"

// History in the schema `autopilot_history` of a PostgreSQL database. A connection that was lost is opened
// again by the next call.
namespace autopilot::store {

enum class PostgresUse : std::uint8_t { read, write };
// write: creates the schema, or migrates it, if it is missing or older; several processes may do so at once.
// Errors as History::open and History::open_read_only; the schema is never moved aside.
[[nodiscard]] Result<std::unique_ptr<HistoryDatabase>> open_postgres_history(const std::string& place,
                                                                             PostgresUse use);

}  // namespace autopilot::store
