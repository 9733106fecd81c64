// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "jobs/findings.hpp"

// The parts of the text of an alert.
namespace autopilot::jobs {

// One sentence: the job, what happens to it, the culprit.
[[nodiscard]] std::string title_of(const JobFinding& finding, const JobState& state);

// The text of a finding that lasts at `now`; without a final line break.
[[nodiscard]] std::string body_of(const JobFinding& finding, const JobState& state, WallTime now);

// The text of its end: how long it lasted and what it cost.
[[nodiscard]] std::string end_of(const JobFinding& finding, const JobState& state, WallTime now);

// True if the name needs no quotes in a shell: letters, digits, '.', '-' and '_', not '-' first.
[[nodiscard]] bool is_safe_in_shell(std::string_view name);

// Words of the text in lines of at most `columns` bytes; following lines begin with `indent` spaces. A longer
// word keeps its line.
[[nodiscard]] std::string wrap(std::string_view text, std::size_t columns, std::size_t indent);

}  // namespace autopilot::jobs
