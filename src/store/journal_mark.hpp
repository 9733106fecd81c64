// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace autopilot::store {

// The content of the lock file: it shows if the journal beside it lost its newest commits, or never got them.
struct JournalMark {
  std::uint64_t commits = 0;  // that were made at least
  bool is_behind = false;     // the writer knew more than it could write
  friend bool operator==(const JournalMark&, const JournalMark&) = default;
};

// "00000000000000000042 behind \n": always as long, so that it is written over in place.
inline constexpr std::size_t kJournalMarkBytes = 29;

[[nodiscard]] std::string format_journal_mark(const JournalMark& mark);
// malformed: anything that format_journal_mark does not give.
[[nodiscard]] Result<JournalMark> parse_journal_mark(std::string_view text);

}  // namespace autopilot::store
