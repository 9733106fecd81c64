// SPDX-License-Identifier: Apache-2.0
// The environment and the command line of a process, which its user writes. Only what is on the list is kept,
// and what states a rank is one.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "collect/discovery/rank_layout.hpp"
#include "core/parse.hpp"
#include "core/result.hpp"
#include "host/process/launch.hpp"
#include "tests/fuzz/targets.hpp"

namespace autopilot::launch_fuzz {
namespace {

void check(const host::Launch::Values& values, std::span<const std::string_view> names) {
  for (const auto& [name, value] : values) {
    AUTOPILOT_ASSERT(std::ranges::find(names, name) != names.end());
    AUTOPILOT_ASSERT(!value.empty() && value.size() <= host::Launch::kLongestValue && is_printable(value));
  }
}

}  // namespace

// The environment, then the line "--", then the arguments.
int run(const std::uint8_t* data, std::size_t size) {
  const void* bytes = data;
  const std::string_view text(static_cast<const char*>(bytes), size);
  const std::size_t middle = text.find("\n--\n");
  host::Launch launch;
  host::parse_environment(text.substr(0, middle), launch);
  if (middle != std::string_view::npos) host::parse_arguments(text.substr(middle + 4), launch);
  check(launch.environment, host::environment_names());
  check(launch.arguments, host::argument_names());
  for (const collect::StatedRank& stated : collect::stated_ranks(launch).ranks) {
    AUTOPILOT_ASSERT(stated.rank >= 0 && stated.rank <= collect::StatedRank::kHighestRank);
    AUTOPILOT_ASSERT(!stated.world || stated.rank < *stated.world);
    static_cast<void>(collect::role_of(launch, stated.rank, stated.world));
    const auto gpu = collect::visible_gpu(launch, stated.local_rank);
    AUTOPILOT_ASSERT(!gpu || (*gpu >= 0 && *gpu < 64));
  }
  return 0;
}

}  // namespace autopilot::launch_fuzz
