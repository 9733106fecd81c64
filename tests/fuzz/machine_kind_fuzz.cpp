// SPDX-License-Identifier: Apache-2.0
// The kind of a machine, as records of history state it: what is accepted has a text that is read back as the
// same kind, at each level.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/result.hpp"
#include "learning/baseline/kind.hpp"
#include "tests/fuzz/targets.hpp"

namespace autopilot::machine_kind_fuzz {

int run(const std::uint8_t* data, std::size_t size) {
  const void* bytes = data;
  const auto kind = learning::parse_kind({static_cast<const char*>(bytes), size});
  if (!kind) return 0;
  for (const learning::KindLevel level : learning::kKindLevels) {
    const std::string text = learning::kind_text(*kind, level);
    const auto again = learning::parse_kind(text);
    AUTOPILOT_ASSERT(again.has_value());
    AUTOPILOT_ASSERT(learning::kind_text(*again) == text);
  }
  return 0;
}

}  // namespace autopilot::machine_kind_fuzz
