// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checks/builtin.hpp"
#include "checks/diagnostic_results.hpp"
#include "core/observation.hpp"

namespace autopilot::checks {
namespace gpu_nccl_allreduce {
namespace {

constexpr std::string_view kId = "gpu.nccl_allreduce";
constexpr std::string_view kWitness = "nccl";

constexpr std::string_view kOutcome = "nccl_allreduce.outcome";
constexpr std::string_view kOneGpu = "one_gpu";  // an all-reduce needs two
constexpr std::array<std::string_view, 3> kOutcomes{kMeasuredOutcomes[0], kMeasuredOutcomes[1], kOneGpu};

// About the host, in GB/s: bus bandwidth at the largest size, independent of the number of GPUs.
constexpr std::string_view kBusBandwidth = "nccl_allreduce.busbw";
// About the host: number of wrong elements over all sizes; missing if they were not verified.
constexpr std::string_view kWrong = "nccl_allreduce.wrong";
// For each GPU that took part; it has `gpu.model` too.
constexpr std::string_view kRank = "nccl_allreduce.rank";
constexpr std::array kFound{kBusBandwidth, kRank, kWrong};

Result<Observed> observe(const host::Host& host, const Request& request) {
  return last_results(host, request, kId, kWitness);
}

void add_slow(const JudgeInput& input, Findings& findings) {
  const auto all = measured(input, kBusBandwidth);
  if (all.empty()) return;
  const Measured& rate = all.front();
  const std::string who = "the all-reduce of " + std::to_string(measured(input, kRank).size()) + " GPUs";
  const auto add = [&](std::string_view reason, Limit least, const std::string& why) {
    if (rate.value >= least.value) return false;
    findings.push_back(make_slow_finding(input, host_subject(), reason, who,
                                         {{"busbw", "GB/s", rate, std::move(least)}}, why));
    return true;
  };
  if (add("allreduce_slow", limit(input, "gpu.nccl_allreduce.least"), "expected for this machine")) return;
  if (const auto peak = nvlink_peak(input, kRank))
    add("allreduce_slow", share_of(limit(input, "gpu.nccl_allreduce.nvlink_share"), *peak, rate.result->unit),
        "expected from the NVLinks of this model");
  else if (const auto before = usual_of(*rate.result))
    add("allreduce_declined",
        share_of(limit(input, "gpu.nccl_allreduce.own_share"), *before, rate.result->unit),
        "expected from its earlier diagnostics");
}

void add_wrong_sums(const JudgeInput& input, Findings& findings) {
  for (const Measured& wrong : measured(input, kWrong)) {
    if (wrong.value <= 0) continue;
    findings.push_back(
        make_finding(input, wrong.result->subject, "allreduce_wrong", Health::degraded,
                     "an all-reduce of the GPUs returned " + rounded(wrong.value) + " wrong sums"));
    add_source(findings.back(), *wrong.result);
  }
}

Findings judge(const JudgeInput& input) {
  Findings findings;
  add_unusable(input, {kOutcome, kOutcomes, kOneGpu, kFound, {}}, findings);
  add_wrong_sums(input, findings);
  add_slow(input, findings);
  return findings;
}

}  // namespace
}  // namespace gpu_nccl_allreduce

const Check kGpuNcclAllreduce = {
    .info = active_check_info(gpu_nccl_allreduce::kId, "All-reduce of the GPUs", "gpu",
                              gpu_nccl_allreduce::kWitness),
    .observe = gpu_nccl_allreduce::observe,
    .judge = gpu_nccl_allreduce::judge,
};

}  // namespace autopilot::checks
