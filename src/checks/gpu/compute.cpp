// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checks/builtin.hpp"
#include "checks/diagnostic_results.hpp"
#include "checks/gpu/gpu_check.hpp"
#include "core/observation.hpp"
#include "core/parse.hpp"

namespace autopilot::checks {
namespace gpu_compute {
namespace {

constexpr std::string_view kId = "gpu.compute";

constexpr std::string_view kOutcome = "compute.outcome";
// For each GPU: vector operations in GB/s, matrix products in TFLOP/s; bf16 only with tensor cores for it.
constexpr std::string_view kDaxpy = "compute.daxpy";
constexpr std::string_view kDgemm = "compute.dgemm";
constexpr std::string_view kBf16 = "compute.bf16";
// Why its clocks were limited during the matrix products: NVML's words, separated by commas. One of them
// means that the GPU was idle. Missing if nothing limited them, or the driver does not report it.
constexpr std::string_view kThrottled = "compute.throttled";
constexpr std::string_view kIdle = "gpu_idle";
// Number of compared results that differ from the correct result.
constexpr std::string_view kWrong = "compute.wrong";
// The same for a product that one kernel of the probe computed wrongly and another one correctly; missing if
// there is none.
constexpr std::string_view kDisputed = "compute.disputed";
// Not judged, only for the table of IBM Autopilot: copies of pinned memory in GB/s (gpu.pcie_bandwidth judges
// them), and compute.temperature, .power and .sm_clock under load. Also not judged: compute.bf16_mma_sync,
// the rate of the slower kernel if the faster one computed wrongly; siblings may have the rate of the faster
// one.
constexpr std::string_view kHostToDevice = "compute.host_to_device_pinned";
constexpr std::array kFound{kHostToDevice, kDaxpy, kDgemm, kBf16, kWrong};

constexpr std::string_view kComputeWrong = "compute_wrong";
constexpr std::string_view kWrongNumbers = "computed wrong results";

constexpr std::array<Rate, 3> kRates{{
    {kDaxpy, "daxpy", "GB/s", memory_peak, "gpu.memory_bandwidth.peak_share",
     "gpu.memory_bandwidth.sibling_share", "gpu.memory_bandwidth.own_share"},
    {kDgemm, "dgemm", "TFLOP/s", fp64_peak, "gpu.compute.fp64_share", "gpu.compute.sibling_share",
     "gpu.compute.own_share"},
    {kBf16, "bf16", "TFLOP/s", bf16_peak, "gpu.compute.bf16_share", "gpu.compute.sibling_share",
     "gpu.compute.own_share"},
}};

Result<Observed> observe(const host::Host& host, const Request& request) {
  return last_results(host, request, kId, kProbe);
}

// The value of an earlier diagnostic remains if the last one reported none.
bool is_of_same_test(const Observation& reported, const Finding& finding) {
  constexpr Duration kLongestTest = std::chrono::minutes{1};
  const Value* at = find_attribute(finding.evidence, "testedAt");
  const auto measured = at == nullptr ? std::nullopt : parse_time(to_string(*at));
  const auto then = parse_time(attribute_text(reported, "testedAt"));
  return measured && then && std::chrono::abs(*measured - *then) <= kLongestTest;
}

// Heat and power limits slow down a healthy GPU, so the finding names them.
void add_throttled(const JudgeInput& input, Finding& finding) {
  const Observation* reported = input.history.find(finding.subject, kThrottled);
  if (reported == nullptr || !reported->value || !is_of_same_test(*reported, finding)) return;
  const std::string words = to_string(*reported->value);
  std::string throttled;
  for (const std::string_view word : split(words, ','))
    if (word != kIdle) throttled.append(throttled.empty() ? "" : ",").append(word);
  if (throttled.empty()) return;
  finding.message += "; its clocks were limited meanwhile: " + throttled;
  finding.evidence.emplace_back("throttled", throttled);
}

// The kernel and its input are the same on every GPU of a model. If another GPU computed correctly, this GPU
// is at fault; otherwise the culprit is unknown. A GPU has kBf16 only without a dispute.
void add_disputed(const JudgeInput& input, Findings& findings) {
  const std::vector<Measured> right = measured(input, kBf16);
  for (const Measured& one : measured(input, kDisputed)) {
    const Subject& gpu = one.result->subject;
    const bool is_wrong_anyway = std::ranges::any_of(findings, [&gpu](const Finding& finding) {
      return finding.subject == gpu && finding.reason == kComputeWrong;
    });
    if (one.value <= 0 || is_wrong_anyway) continue;
    const auto model = input.history.word(gpu, kGpuModel);
    const auto sibling = std::ranges::find_if(right, [&](const Measured& other) {
      return model && input.history.word(other.result->subject, kGpuModel) == model;
    });
    if (sibling != right.end()) {
      findings.push_back(make_wrong_finding(input, one, kComputeWrong, kWrongNumbers));
      findings.back().message +=
          "; " + gpu_text(sibling->result->subject) + " computed correct results with the same kernel";
      continue;
    }
    findings.push_back(make_finding(
        input, gpu, "could_not_look", Health::unknown,
        "two kernels of the probe disagree on " + gpu_text(gpu) +
            ", and the deviating kernel has not computed correctly on any other GPU of its model"));
    add_source(findings.back(), *one.result);
  }
}

Findings judge(const JudgeInput& input) {
  Findings findings;
  add_unusable(input, {kOutcome, kMeasuredOutcomes, {}, kFound, {}}, findings);
  add_wrong(input, kWrong, kComputeWrong, kWrongNumbers, findings);
  add_disputed(input, findings);
  Findings slow;
  judge_rates(input, kRates, {"compute_slow", "compute_sibling_differs", "compute_declined"}, slow);
  for (Finding& finding : slow) {
    add_throttled(input, finding);
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace
}  // namespace gpu_compute

const Check kGpuCompute = {
    .info = active_check_info(gpu_compute::kId, "Memory and arithmetic", "gpu", kProbe),
    .observe = gpu_compute::observe,
    .judge = gpu_compute::judge,
};

}  // namespace autopilot::checks
