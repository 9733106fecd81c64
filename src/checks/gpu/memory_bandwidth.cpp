// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "checks/builtin.hpp"
#include "checks/diagnostic_results.hpp"

namespace autopilot::checks {
namespace gpu_memory_bandwidth {
namespace {

constexpr std::string_view kId = "gpu.memory_bandwidth";

constexpr std::string_view kOutcome = "memory_bandwidth.outcome";
// For each GPU, in GB/s read and written: its own memory, accessed by kernels.
constexpr std::string_view kCopy = "memory_bandwidth.copy";
constexpr std::string_view kScale = "memory_bandwidth.scale";
constexpr std::string_view kTriad = "memory_bandwidth.triad";
constexpr std::string_view kDaxpy = "memory_bandwidth.daxpy";
// Number of compared results that differ from the correct result.
constexpr std::string_view kWrong = "memory_bandwidth.wrong";
constexpr std::array kFound{kCopy, kScale, kTriad, kDaxpy, kWrong};

constexpr Rate rate(std::string_view name, std::string_view word) {
  return {name,
          word,
          "GB/s",
          memory_peak,
          "gpu.memory_bandwidth.peak_share",
          "gpu.memory_bandwidth.sibling_share",
          "gpu.memory_bandwidth.own_share"};
}
constexpr std::array kRates{rate(kCopy, "copy"), rate(kScale, "scale"), rate(kTriad, "triad"),
                            rate(kDaxpy, "daxpy")};

Result<Observed> observe(const host::Host& host, const Request& request) {
  return last_results(host, request, kId, kProbe);
}

Findings judge(const JudgeInput& input) {
  Findings findings;
  add_unusable(input, {kOutcome, kMeasuredOutcomes, {}, kFound, {}}, findings);
  add_wrong(input, kWrong, "memory_bandwidth_wrong", "computed wrong results while it copied its memory",
            findings);
  judge_rates(input, kRates,
              {"memory_bandwidth_low", "memory_bandwidth_sibling_differs", "memory_bandwidth_declined"},
              findings);
  return findings;
}

}  // namespace
}  // namespace gpu_memory_bandwidth

const Check kGpuMemoryBandwidth = {
    .info = active_check_info(gpu_memory_bandwidth::kId, "Measured memory bandwidth", "gpu", kProbe),
    .observe = gpu_memory_bandwidth::observe,
    .judge = gpu_memory_bandwidth::judge,
};

}  // namespace autopilot::checks
