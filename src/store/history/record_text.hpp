// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"
#include "learning/records.hpp"

// Body of a row of history: one JSON object with the members of learning/record_members.hpp; times are
// nanoseconds since 1970.
namespace autopilot::store {

[[nodiscard]] std::string to_text(const learning::HistoryRecord& record);
// malformed: names the invalid member. Missing members keep their default, other members are ignored: an
// older or newer version can have written the row.
[[nodiscard]] Result<learning::HistoryRecord> parse_record(std::string_view type, std::string_view text);

}  // namespace autopilot::store
