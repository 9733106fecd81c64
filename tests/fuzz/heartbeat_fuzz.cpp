// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "collect/progress/heartbeat.hpp"
#include "collect/progress/step_guard.hpp"
#include "core/parse.hpp"
#include "core/result.hpp"
#include "tests/fuzz/targets.hpp"

namespace autopilot::heartbeat_fuzz {

// What is accepted is within its range, and the name of a file stays a name.
int run(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto heartbeat = collect::parse_heartbeat(text);
  const std::string name = collect::command_file(heartbeat ? heartbeat->job : text);
  AUTOPILOT_ASSERT(name.find('/') == std::string::npos && name != "." && name != ".." && name.size() <= 200);
  if (!heartbeat) return 0;
  AUTOPILOT_ASSERT(!heartbeat->job.empty() && is_printable(heartbeat->job));
  AUTOPILOT_ASSERT(heartbeat->step >= 0 && heartbeat->step <= collect::StepGuard::kMaxStep);
  AUTOPILOT_ASSERT(!heartbeat->step_s || *heartbeat->step_s > 0);
  AUTOPILOT_ASSERT(!heartbeat->tokens || *heartbeat->tokens > 0);
  return 0;
}

}  // namespace autopilot::heartbeat_fuzz
