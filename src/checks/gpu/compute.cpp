// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checks/builtin.hpp"
#include "checks/gpu/gpu_check.hpp"
#include "checks/gpu/measured.hpp"
#include "checks/last_results.hpp"
#include "core/attribute_text.hpp"
#include "core/parse.hpp"

namespace autopilot::checks {
namespace gpu_compute {
namespace {

constexpr std::string_view kId = "gpu.compute";

constexpr std::string_view kOutcome = "compute.outcome";
// Of each GPU: vectors in GB/s, products of matrices in TFLOP/s; bf16 only where it has tensor cores for it.
constexpr std::string_view kDaxpy = "compute.daxpy";
constexpr std::string_view kDgemm = "compute.dgemm";
constexpr std::string_view kBf16 = "compute.bf16";
// Why its clocks were held back while it multiplied, with commas between the words of NVML, one of which says
// that it was idle; absent where nothing did, or nobody told.
constexpr std::string_view kThrottled = "compute.throttled";
constexpr std::string_view kIdle = "gpu_idle";
// How many of the numbers that were compared were not the only right ones.
constexpr std::string_view kWrong = "compute.wrong";
// Likewise of a product that one kernel of the probe got wrong and another one right; absent where none is.
constexpr std::string_view kDisputed = "compute.disputed";
// Not judged, for the table of IBM Autopilot: copies of pinned memory in GB/s, which gpu.pcie_bandwidth
// judges, compute.temperature, .power and .sm_clock under load. Nor is compute.bf16_mma_sync, the rate of the
// slower kernel where the faster one was wrong: siblings may have the rate of the latter.
constexpr std::string_view kHostToDevice = "compute.host_to_device_pinned";
constexpr std::array kFound{kHostToDevice, kDaxpy, kDgemm, kBf16, kWrong};

constexpr std::string_view kComputeWrong = "compute_wrong";
constexpr std::string_view kWrongNumbers = "got wrong numbers from its arithmetic";

std::optional<double> fp64_peak(const catalog::GpuPeaks& peaks) {
  return peaks.fp64_tensor_teraflops ? peaks.fp64_tensor_teraflops : peaks.fp64_teraflops;
}
std::optional<double> bf16_peak(const catalog::GpuPeaks& peaks) {
  return peaks.bf16_teraflops;
}

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

// What an earlier test told of its GPU is still there where the last one told nothing.
bool is_of_same_test(const Observation& told, const Finding& finding) {
  constexpr Duration kLongestTest = std::chrono::minutes{1};
  const Value* at = find_attribute(finding.evidence, "testedAt");
  const auto measured = at == nullptr ? std::nullopt : parse_time(to_string(*at));
  const auto then = parse_time(attribute_text(told, "testedAt"));
  return measured && then && std::chrono::abs(*measured - *then) <= kLongestTest;
}

// Heat and power make a sound GPU slow: whoever reads that it is slow must see it.
void add_throttled(const JudgeInput& input, Finding& finding) {
  const Observation* told = input.history.find(finding.subject, kThrottled);
  if (told == nullptr || !told->value || !is_of_same_test(*told, finding)) return;
  const std::string words = to_string(*told->value);
  std::string throttled;
  for (const std::string_view word : split(words, ','))
    if (word != kIdle) throttled.append(throttled.empty() ? "" : ",").append(word);
  if (throttled.empty()) return;
  finding.message += "; its clocks were held back meanwhile: " + throttled;
  finding.evidence.emplace_back("throttled", throttled);
}

// The kernel and its numbers are the same on every GPU of a model: where another one got them right, this GPU
// is wrong; else nobody knows which of the two is. A GPU has kBf16 only where it has no dispute.
void add_disputed(const JudgeInput& input, Findings& findings) {
  const std::vector<Measured> right = measured(input, kBf16);
  for (const Measured& one : measured(input, kDisputed)) {
    const Subject& gpu = one.said->subject;
    const bool is_wrong_anyway = std::ranges::any_of(findings, [&gpu](const Finding& finding) {
      return finding.subject == gpu && finding.reason == kComputeWrong;
    });
    if (one.value <= 0 || is_wrong_anyway) continue;
    const auto model = input.history.word(gpu, kGpuModel);
    const auto sibling = std::ranges::find_if(right, [&](const Measured& other) {
      return model && input.history.word(other.said->subject, kGpuModel) == model;
    });
    if (sibling != right.end()) {
      findings.push_back(make_wrong_finding(input, one, kComputeWrong, kWrongNumbers));
      findings.back().message +=
          "; " + gpu_text(sibling->said->subject) + " got the right ones by the same kernel";
      continue;
    }
    findings.push_back(
        make_finding(input, gpu, "could_not_look", Health::unknown,
                     "two kernels of the probe disagree on " + gpu_text(gpu) +
                         ", and on no other GPU of its model was the one right that is wrong here"));
    add_source(findings.back(), *one.said);
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
