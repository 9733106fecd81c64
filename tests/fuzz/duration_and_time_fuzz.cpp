// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "core/subject.hpp"
#include "tests/fuzz/targets.hpp"

namespace autopilot::duration_and_time_fuzz {

// What these parsers accept, their formatters write, and the parsers read again to the same value.
int run(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto duration = autopilot::parse_duration(text))
    AUTOPILOT_ASSERT(autopilot::parse_duration(autopilot::format_duration(*duration)) == duration);
  if (const auto time = autopilot::parse_time(text)) {
    const auto written = autopilot::format_time(*time);
    const auto again = autopilot::parse_time(written);
    AUTOPILOT_ASSERT(again && autopilot::format_time(*again) == written);
  }
  if (const auto address = autopilot::canonical_pci_address(text))
    AUTOPILOT_ASSERT(autopilot::canonical_pci_address(*address) == address);
  if (const auto subject = autopilot::parse_subject(text))
    AUTOPILOT_ASSERT(autopilot::parse_subject(autopilot::to_string(*subject)) == subject);
  return 0;
}

}  // namespace autopilot::duration_and_time_fuzz
