// SPDX-License-Identifier: Apache-2.0
#include "checks/measured_limits.hpp"

#include <algorithm>
#include <array>

#include "checks/diagnostic_results.hpp"

namespace autopilot::checks {
namespace {

constexpr std::string_view kMemoryShare = "gpu.memory_bandwidth.peak_share";
constexpr std::string_view kMemoryCheck = "gpu.memory_bandwidth";
constexpr std::string_view kComputeCheck = "gpu.compute";

constexpr std::array<MeasuredLimit, 8> kMeasuredLimits{{
    {"gpu.pcie_bandwidth", "pcie_bandwidth.host_to_device", "gpu.pcie_bandwidth.host_to_device"},
    {kMemoryCheck, "memory_bandwidth.copy", kMemoryShare, memory_peak},
    {kMemoryCheck, "memory_bandwidth.scale", kMemoryShare, memory_peak},
    {kMemoryCheck, "memory_bandwidth.triad", kMemoryShare, memory_peak},
    {kMemoryCheck, "memory_bandwidth.daxpy", kMemoryShare, memory_peak},
    {kComputeCheck, "compute.daxpy", kMemoryShare, memory_peak},
    {kComputeCheck, "compute.dgemm", "gpu.compute.fp64_share", fp64_peak},
    {kComputeCheck, "compute.bf16", "gpu.compute.bf16_share", bf16_peak},
}};

}  // namespace

std::span<const MeasuredLimit> measured_limits() {
  return kMeasuredLimits;
}

std::optional<RateLimit> rate_limit(const catalog::Catalog& facts, std::string_view check,
                                    std::string_view metric, std::string_view gpu_model) {
  const auto found = std::ranges::find_if(
      kMeasuredLimits, [&](const MeasuredLimit& one) { return one.check == check && one.metric == metric; });
  if (found == kMeasuredLimits.end()) return std::nullopt;
  if (found->whole == nullptr) return RateLimit{found->threshold, 1};
  const catalog::GpuModel* model = facts.gpu_model(gpu_model);
  const auto whole = model != nullptr && model->peaks ? found->whole(*model->peaks) : std::nullopt;
  if (!whole || *whole <= 0) return std::nullopt;
  return RateLimit{found->threshold, *whole, true};
}

}  // namespace autopilot::checks
