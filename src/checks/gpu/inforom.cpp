// SPDX-License-Identifier: Apache-2.0
#include "checks/builtin.hpp"
#include "checks/gpu/gpu_check.hpp"

namespace autopilot::checks {
namespace gpu_inforom {
namespace {

using namespace host::reading;

Result<Observed> observe(const host::Host& host, const Request& request) {
  return observe_gpus(host, request, {host::GpuGroup::inforom}, Vendors::nvidia);
}

Findings judge(const JudgeInput& input) {
  Findings findings;
  for (const Subject& gpu : readable_gpus(input, {kInforomValid}, findings)) {
    if (is_true(input, gpu, kInforomValid)) continue;
    findings.push_back(make_finding(input, gpu, "inforom_corrupted", Health::degraded,
                                    gpu_text(gpu) + " has a damaged InfoROM: its checksum is wrong"));
    if (const auto model = input.history.word(gpu, kGpuModel))
      findings.back().evidence = {{"model", *model}, {"serial", gpu.serial}};
  }
  return findings;
}

}  // namespace
}  // namespace gpu_inforom

// The call makes the driver read the board's flash memory. The content does not change, so the check runs
// rarely.
const Check kGpuInforom = {
    .info = {.id = "gpu.inforom",
             .title = "GPU InfoROM",
             .tags = {"gpu", "passive"},
             .period = std::chrono::hours{1},
             .deadline = std::chrono::seconds{30},
             .window = std::chrono::hours{2},
             .cost = Cost::moderate,
             .witnesses = {std::string(kNvml)},
             .rights = {},
             .needs_window = false},
    .observe = gpu_inforom::observe,
    .judge = gpu_inforom::judge,
};

}  // namespace autopilot::checks
