// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "config/config.hpp"
#include "core/result.hpp"
#include "tests/fuzz/targets.hpp"

namespace autopilot::config_fuzz {

// Any file gives an error with a message, or a configuration that can be compared and merged.
int run(const std::uint8_t* data, std::size_t size) {
  using namespace autopilot::config;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Config base = default_config({}, true);
  const auto config = parse(text, "config.yaml", base);
  if (!config) {
    AUTOPILOT_ASSERT(config.error().what.starts_with("config.yaml:"));
    return 0;
  }
  AUTOPILOT_ASSERT(diff(*config, *config).empty());
  for (const Change& change : diff(base, merge_live(base, *config)))
    AUTOPILOT_ASSERT(change.is_live);
  return 0;
}

}  // namespace autopilot::config_fuzz
