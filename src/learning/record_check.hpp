// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "learning/records.hpp"

// What all types of records have in common, and the limits of their members.
namespace autopilot::learning {

// The words of the types: "job", "validation", "measurement", "fault", "label", "repair", "versions".
inline constexpr std::array<std::string_view, std::variant_size_v<HistoryRecord>> kRecordTypes{
    "job", "validation", "measurement", "fault", "label", "repair", "versions"};
[[nodiscard]] std::string_view type_of(const HistoryRecord& record);
[[nodiscard]] const std::string& id_of(const HistoryRecord& record);
[[nodiscard]] const Place& place_of(const HistoryRecord& record);
// The job that ran, was hit, or caused the validation; empty: none.
[[nodiscard]] std::string_view job_of(const HistoryRecord& record);
// The word that a record of its type is counted by: class of a fault, verdict of a validation, outcome of a
// job, answer of a label; empty for the others.
[[nodiscard]] std::string_view outcome_of(const HistoryRecord& record);
[[nodiscard]] WallTime begin_of(const HistoryRecord& record);
// nullopt: not over. Equal to the begin for a record of one moment.
[[nodiscard]] std::optional<WallTime> end_of(const HistoryRecord& record);

// The latest time that a record can have: the year 2255, within 64 bits of nanoseconds.
inline constexpr WallTime kLatestTime{std::chrono::seconds{9'000'000'000}};

// malformed: a member is missing, too long, not valid UTF-8, out of range, or contradicts another member. The
// text begins with the member: "end: before the begin".
[[nodiscard]] Status check(const HistoryRecord& record);
// Makes texts valid UTF-8, and shortens texts and lists to their limits, except the id.
void fit(HistoryRecord& record);

}  // namespace autopilot::learning
