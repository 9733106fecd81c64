// SPDX-License-Identifier: Apache-2.0
#include <chrono>

#include "checks/builtin.hpp"
#include "checks/gpu/gpu_check.hpp"
#include "checks/kernel_log/record_effects.hpp"
#include "checks/kernel_log/rule_events.hpp"
#include "host/host.hpp"

namespace autopilot::checks {
namespace gpu_amdgpu_errors {
namespace {

constexpr std::string_view kId = "gpu.amdgpu_errors";

Result<Observed> observe(const host::Host& host, const Request& request) {
  const auto gpus = TRY(host.gpu_scan.gpus(host::GpuVendor::amd));
  if (gpus.empty() && !host::is_amdgpu_module_loaded(host.files))
    return fail(Errc::unsupported, "no AMD GPU in the PCI tree");
  Observed observed;
  TRY_STATUS(add_rule_events(host, request, kId, observed));
  for (const host::PciDevice& gpu : gpus)
    observed.observations.push_back(pci_driver_observation(gpu, request.now));
  return observed;
}

}  // namespace
}  // namespace gpu_amdgpu_errors

const Check kGpuAmdgpuErrors = {
    .info = {.id = std::string(gpu_amdgpu_errors::kId),
             .title = "AMD driver errors",
             .tags = {"gpu", "driver", "kernel_log", "passive"},
             .period = std::chrono::seconds{10},
             .deadline = std::chrono::seconds{5},
             .window = std::chrono::hours{24},
             .cost = Cost::cheap,
             .witnesses = {"/dev/kmsg"},
             .rights = {"CAP_SYSLOG"},
             .needs_window = false},
    .observe = gpu_amdgpu_errors::observe,
    .judge = rule_findings,
    .interpret = interpret_records,
};

}  // namespace autopilot::checks
