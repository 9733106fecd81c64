// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <variant>

#include "cli/why/program_log.hpp"
#include "core/parse.hpp"
#include "core/result.hpp"
#include "tests/fuzz/targets.hpp"

namespace autopilot::program_log_fuzz {

// Whatever a program writes, each limit is stated once, in a sentence, with a line that a terminal can show.
int run(const std::uint8_t* data, std::size_t size) {
  const std::string_view log(reinterpret_cast<const char*>(data), size);
  std::set<std::string> reasons;
  for (const why::Evidence& one : cli::evidence_in_log(log, {})) {
    AUTOPILOT_ASSERT(!one.finding.reason.empty() && reasons.insert(std::string(one.finding.reason)).second);
    AUTOPILOT_ASSERT(!one.finding.message.empty());
    AUTOPILOT_ASSERT(!why::has_time(one));
    AUTOPILOT_ASSERT(one.finding.evidence.size() == 1);
    const auto* line = std::get_if<std::string>(&one.finding.evidence.front().second);
    AUTOPILOT_ASSERT(line != nullptr && is_printable(*line));
  }
  return 0;
}

}  // namespace autopilot::program_log_fuzz
