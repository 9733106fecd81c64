// SPDX-License-Identifier: Apache-2.0
// A dump of PyTorch's flight recorder, which the job writes: parsed within the limits or refused.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "collect/evidence/evidence_store.hpp"
#include "collect/flight_recorder/dump.hpp"
#include "core/result.hpp"
#include "tests/fuzz/targets.hpp"

namespace autopilot::flight_dump_fuzz {

int run(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto dump = collect::parse_flight_dump(bytes);
  if (dump) {
    AUTOPILOT_ASSERT(dump->groups.size() <= collect::DumpLimits::kMaxGroups);
    for (const collect::DumpGroup& group : dump->groups) {
      AUTOPILOT_ASSERT(!group.name.empty());
      AUTOPILOT_ASSERT(std::ranges::is_sorted(group.ranks));
      AUTOPILOT_ASSERT(group.completed.value_or(0) <= group.enqueued.value_or(0));
    }
  }
  if (const auto index = collect::parse_evidence_index(bytes))
    AUTOPILOT_ASSERT(collect::parse_evidence_index(collect::format_evidence_index(*index)).has_value());
  return 0;
}

}  // namespace autopilot::flight_dump_fuzz
