// SPDX-License-Identifier: Apache-2.0
#include "store/journal_mark.hpp"

#include <algorithm>

#include "core/parse.hpp"

namespace autopilot::store {
namespace {

constexpr std::size_t kDigits = 20;
constexpr std::string_view kCurrent = " current\n";
constexpr std::string_view kBehind = " behind \n";
static_assert(kDigits + kCurrent.size() == kJournalMarkBytes && kBehind.size() == kCurrent.size());

}  // namespace

std::string format_journal_mark(const JournalMark& mark) {
  std::string digits = std::to_string(mark.commits);
  digits.insert(0, kDigits - digits.size(), '0');
  return digits.append(mark.is_behind ? kBehind : kCurrent);
}

Result<JournalMark> parse_journal_mark(std::string_view text) {
  const auto commits = parse_number<std::uint64_t>(text.substr(0, kDigits));
  const auto state = text.substr(std::min(text.size(), kDigits));
  if (text.size() != kJournalMarkBytes || !commits || (state != kCurrent && state != kBehind))
    return fail(Errc::malformed, "the journal's lock: its mark is damaged");
  return JournalMark{*commits, state == kBehind};
}

}  // namespace autopilot::store
