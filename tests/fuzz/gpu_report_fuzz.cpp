// SPDX-License-Identifier: Apache-2.0
// What a lying or broken helper of a GPU driver may send, and what amdgpu's files may hold: parsed or
// refused, never a crash. A report that is accepted can be written and read again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/result.hpp"
#include "host/gpu/amd_gpus.hpp"
#include "host/gpu/helper_gpus.hpp"
#include "host/gpu/telemetry.hpp"
#include "tests/fuzz/targets.hpp"

namespace autopilot::gpu_report_fuzz {

int run(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto report = autopilot::host::parse_gpu_report(text))
    AUTOPILOT_ASSERT(autopilot::host::parse_gpu_report(autopilot::host::format_gpu_report(*report)));
  if (const auto telemetry = autopilot::host::parse_gpu_telemetry(text))
    AUTOPILOT_ASSERT(autopilot::host::parse_gpu_telemetry(autopilot::host::format_gpu_telemetry(*telemetry)));
  (void)autopilot::host::parse_telemetry_request(text);
  (void)autopilot::host::parse_gpu_events(text, {});
  (void)autopilot::host::parse_gpu_question(text);
  (void)autopilot::host::parse_ras_counts(text);
  (void)autopilot::host::parse_bad_pages(text);
  (void)autopilot::host::highest_clock(text);
  return 0;
}

}  // namespace autopilot::gpu_report_fuzz
