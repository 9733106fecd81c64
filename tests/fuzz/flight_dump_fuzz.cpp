// SPDX-License-Identifier: Apache-2.0
// A dump of PyTorch's flight recorder, which the job writes: parsed within the limits or refused.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "collect/evidence/evidence_store.hpp"
#include "collect/flight_recorder/dump.hpp"
#include "collect/flight_recorder/dump_summary.hpp"
#include "core/parse.hpp"
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
      if (group.open_collective)
        AUTOPILOT_ASSERT(group.open_collective->sequence > group.completed.value_or(-1));
    }
    const std::string summary = collect::summarise_dumps({{.rank = 0, .groups = dump->groups}});
    AUTOPILOT_ASSERT(std::ranges::all_of(
        summary, [](char sign) { return sign == '\n' || is_printable(std::string_view(&sign, 1)); }));
  }
  if (const auto index = collect::parse_evidence_index(bytes))
    AUTOPILOT_ASSERT(collect::parse_evidence_index(collect::format_evidence_index(*index)).has_value());
  return 0;
}

}  // namespace autopilot::flight_dump_fuzz
