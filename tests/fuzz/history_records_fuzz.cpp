// SPDX-License-Identifier: Apache-2.0
// Lines of history. What is accepted is within the limits, and is written so that it is read again as the
// same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "api/history_records.hpp"
#include "core/result.hpp"
#include "learning/record_check.hpp"
#include "tests/fuzz/targets.hpp"

namespace autopilot::history_records_fuzz {

int run(const std::uint8_t* data, std::size_t size) {
  const void* bytes = data;
  const std::string_view line(static_cast<const char*>(bytes), size);
  const auto first = api::parse_history_line(line);
  if (!first) {
    AUTOPILOT_ASSERT(!first.error().what.empty());
    return 0;
  }
  AUTOPILOT_ASSERT(learning::check(*first));
  const std::string written = api::to_history_line(*first);
  const auto second = api::parse_history_line(std::string_view(written).substr(0, written.size() - 1));
  AUTOPILOT_ASSERT(second);
  AUTOPILOT_ASSERT(api::to_history_line(*second) == written);
  return 0;
}

}  // namespace autopilot::history_records_fuzz
