// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "store/history/history.hpp"

// The indexes of each version of the schema, the same in all databases, and the statements that lead to them
// from the version before. Version 1 follows the table, which each database creates in its own types.
namespace autopilot::store {

inline constexpr std::array<std::string_view, 6> kHistoryVersion1{
    "CREATE INDEX records_of_node ON records(node, begin_ns)",
    "CREATE INDEX records_on_node ON records(node, type, end_ns)",
    "CREATE INDEX records_of_gpu ON records(gpu, begin_ns) WHERE gpu <> ''",
    "CREATE INDEX records_of_job ON records(job, begin_ns) WHERE job <> ''",
    "CREATE INDEX records_of_type ON records(type, begin_ns, outcome, node)",
    "CREATE INDEX records_by_outcome ON records(type, outcome, end_ns)"};
// In the order of the begin, with the end: what ended too early is left out without reading its row. An
// export of all records, by their begin, sorts none.
inline constexpr std::array<std::string_view, 7> kHistoryVersion2{
    "CREATE INDEX records_by_begin ON records(begin_ns)",
    "DROP INDEX records_of_node",
    "DROP INDEX records_of_type",
    "DROP INDEX records_by_outcome",
    "CREATE INDEX records_of_node ON records(node, begin_ns, end_ns)",
    "CREATE INDEX records_of_type ON records(type, begin_ns, end_ns, outcome, node)",
    "CREATE INDEX records_by_outcome ON records(type, outcome, begin_ns, end_ns)"};

// The position is the version that the entry leads to, less one.
inline constexpr std::array<std::span<const std::string_view>, History::kSchemaVersion> kHistoryVersions{
    kHistoryVersion1, kHistoryVersion2};

}  // namespace autopilot::store
