// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "store/journal_file.hpp"
#include "tests/fuzz/targets.hpp"

namespace autopilot::journal_mark_fuzz {

// What is taken for a mark is written again as it was.
int run(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto mark = store::parse_journal_mark(text))
    AUTOPILOT_ASSERT(store::format_journal_mark(*mark) == text);
  return 0;
}

}  // namespace autopilot::journal_mark_fuzz
