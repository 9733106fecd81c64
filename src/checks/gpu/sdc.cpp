// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "checks/builtin.hpp"
#include "checks/diagnostic_results.hpp"

namespace autopilot::checks {
namespace gpu_sdc {
namespace {

constexpr std::string_view kId = "gpu.sdc";

constexpr std::string_view kOutcome = "sdc.outcome";
// For each GPU: number of multiprocessors that repeatedly computed a known result, and number of digests that
// differ from that result. `where` names the multiprocessors: "multiprocessor 3, multiprocessor 7".
constexpr std::string_view kMultiprocessors = "sdc.multiprocessors";
constexpr std::string_view kWrong = "sdc.wrong";
constexpr std::array kFound{kMultiprocessors, kWrong};

Result<Observed> observe(const host::Host& host, const Request& request) {
  return last_results(host, request, kId, kProbe);
}

Findings judge(const JudgeInput& input) {
  Findings findings;
  add_unusable(input, {kOutcome, kMeasuredOutcomes, {}, kFound, {}}, findings);
  add_wrong(input, kWrong, "silent_corruption", "computes wrong results and reports no error", findings);
  return findings;
}

}  // namespace
}  // namespace gpu_sdc

const Check kGpuSdc = {
    .info = active_check_info(gpu_sdc::kId, "Silent data corruption", "gpu", kProbe),
    .observe = gpu_sdc::observe,
    .judge = gpu_sdc::judge,
};

}  // namespace autopilot::checks
