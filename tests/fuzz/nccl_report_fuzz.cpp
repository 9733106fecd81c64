// SPDX-License-Identifier: Apache-2.0
// The report of an external program about an all-reduce: parsed or refused, and printed with valid numbers.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "diagnostics/child/nccl_helper.hpp"
#include "tests/fuzz/targets.hpp"

namespace autopilot::nccl_report_fuzz {

int run(const std::uint8_t* data, std::size_t size) {
  const auto report = host::parse_nccl_report({reinterpret_cast<const char*>(data), size});
  if (!report) return 0;
  AUTOPILOT_ASSERT(report->rows.size() <= host::kMaxNcclRows);
  const auto all = diagnostics::nccl_observations(*report, std::vector<host::GpuDevice>(2));
  if (!all) return 0;
  for (const Observation& one : *all) {
    const auto number = one.value ? as_number(*one.value) : std::nullopt;
    AUTOPILOT_ASSERT(!number || (std::isfinite(*number) && *number >= 0));
    AUTOPILOT_ASSERT(one.value || !one.missing.text().empty());
  }
  return 0;
}

}  // namespace autopilot::nccl_report_fuzz
