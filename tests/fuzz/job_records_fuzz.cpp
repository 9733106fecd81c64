// SPDX-License-Identifier: Apache-2.0
// Lines of job telemetry. What is accepted must be written so that it is read again as the same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "api/job_records.hpp"
#include "core/result.hpp"
#include "tests/fuzz/targets.hpp"

namespace autopilot::job_records_fuzz {

int run(const std::uint8_t* data, std::size_t size) {
  const void* bytes = data;
  const std::string_view line(static_cast<const char*>(bytes), size);
  for (const api::JobFile file : api::kJobFiles) {
    const auto first = api::parse_job_line(line, file);
    if (!first) {
      AUTOPILOT_ASSERT(!first.error().what.empty());
      continue;
    }
    // Of a later version only the number is kept.
    const auto* format = std::get_if<api::JobFormat>(&*first);
    if (format != nullptr && format->version != api::kJobFormatVersion) continue;
    const std::string written = api::to_line(*first);
    const auto second = api::parse_job_line(std::string_view(written).substr(0, written.size() - 1), file);
    AUTOPILOT_ASSERT(second);
    AUTOPILOT_ASSERT(api::to_line(*second) == written);
  }
  return 0;
}

}  // namespace autopilot::job_records_fuzz
