// SPDX-License-Identifier: Apache-2.0
// What a lying or broken NVML helper may send: parsed or refused, never a crash. What is accepted can be
// written and read again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/result.hpp"
#include "host/gpu/gpu_report.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto report = autopilot::host::parse_gpu_report(text))
    AUTOPILOT_ASSERT(autopilot::host::parse_gpu_report(autopilot::host::format_gpu_report(*report)));
  (void)autopilot::host::parse_gpu_events(text);
  (void)autopilot::host::parse_gpu_question(text);
  return 0;
}
