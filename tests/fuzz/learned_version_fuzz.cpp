// SPDX-License-Identifier: Apache-2.0
// Files of learned versions: the line, to which the checksum is added here. What is accepted is written so
// that it is read again as the same.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "api/learned_versions.hpp"
#include "core/result.hpp"
#include "core/stable_hash.hpp"
#include "tests/fuzz/targets.hpp"

namespace autopilot::learned_version_fuzz {

int run(const std::uint8_t* data, std::size_t size) {
  const void* bytes = data;
  const std::string_view input(static_cast<const char*>(bytes), size);
  AUTOPILOT_ASSERT(!api::parse_version(input) || input.ends_with('\n'));
  const std::string line = std::string(input.substr(0, input.find('\n'))) + "\n";
  const auto first = api::parse_version(line + stable_hash(line).hex() + "\n");
  if (!first) {
    AUTOPILOT_ASSERT(!first.error().what.empty());
    return 0;
  }
  const std::string written = api::format_version(*first);
  const auto second = api::parse_version(written);
  AUTOPILOT_ASSERT(second);
  AUTOPILOT_ASSERT(api::format_version(*second) == written);
  return 0;
}

}  // namespace autopilot::learned_version_fuzz
