// SPDX-License-Identifier: Apache-2.0
// What a program that may crash prints of the GPUs: read or refused, and what is made of it fits on the line
// of a child.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "diagnostics/child/child_line.hpp"
#include "diagnostics/child/gpu_probe_helper.hpp"
#include "tests/fuzz/targets.hpp"

namespace autopilot::gpu_probe_report_fuzz {
namespace {

// The text about the first GPUs of the report, and about an unknown GPU.
void check_words(const host::GpuProbeReport& report) {
  std::vector<host::GpuDevice> devices(3);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    devices[i].subject = {SubjectKind::gpu, "0000:0" + std::to_string(i) + ":00.0", static_cast<int>(i), "",
                          ""};
    if (i < report.gpus.size() && i != 2) devices[i].subject.key = report.gpus[i].pci_address;
  }
  for (const diagnostics::GpuProbeTest& test : diagnostics::gpu_probe_tests()) {
    const auto all = diagnostics::gpu_probe_observations(test, report, devices);
    AUTOPILOT_ASSERT(all.has_value() == report.error.empty());
    if (all && all->size() <= diagnostics::kMaxChildObservations)
      for (const Observation& one : *all)
        AUTOPILOT_ASSERT(one.value.has_value() != !one.missing.empty());
  }
}

}  // namespace

int run(const std::uint8_t* data, std::size_t size) {
  const auto report = host::parse_gpu_probe_report({reinterpret_cast<const char*>(data), size});
  if (!report) return 0;
  AUTOPILOT_ASSERT(report->gpus.size() <= host::kMaxProbedGpus);
  check_words(*report);
  return 0;
}

}  // namespace autopilot::gpu_probe_report_fuzz
