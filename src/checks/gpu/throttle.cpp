// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

#include "checks/builtin.hpp"
#include "checks/gpu/gpu_check.hpp"

namespace autopilot::checks {
namespace gpu_throttle {
namespace {

using namespace host::reading;

constexpr Duration kWindow = std::chrono::minutes{10};

// A reason for lower clocks that is judged. Not judged: the power cap, which is normal under load, sync
// boost, clocks that were set by hand, and idling.
struct Brake {
  std::string_view reason;
  std::string_view threshold;
  std::string_view counter;  // time in nanoseconds; "": the driver has none
  std::string_view
      fallback;             // counter of older drivers with nearly the same meaning; "": the driver has none
  std::uint64_t bit;        // in clocks.event_reasons
  std::uint64_t explained;  // bits that explain this one
  std::string_view what;
};

constexpr std::array kBrakes{
    Brake{"throttle_hw_thermal", "gpu.throttle.hw_thermal_share", kThrottleHwThermal, "",
          host::clocks_reason::kHwThermal, 0, "slowed down by its hardware because of heat"},
    Brake{"throttle_hw_power_brake", "gpu.throttle.hw_power_brake_share", kThrottleHwPowerBrake, "",
          host::clocks_reason::kHwPowerBrake, 0, "slowed down by the power brake of the machine"},
    Brake{"throttle_sw_thermal", "gpu.throttle.sw_thermal_share", kThrottleSwThermal, kThrottleThermal,
          host::clocks_reason::kSwThermal, 0, "slowed down by the driver because of heat"},
};
// The hardware sets this bit for all of its reasons; it is judged only if no other bit explains it.
constexpr Brake kSlowdown{"throttle_hw_slowdown",
                          "gpu.throttle.hw_slowdown_share",
                          "",
                          "",
                          host::clocks_reason::kHwSlowdown,
                          host::clocks_reason::kHwThermal | host::clocks_reason::kHwPowerBrake,
                          "slowed down by its hardware for an unknown reason"};

// This bit as an observation of its own, for readers of the API.
constexpr std::string_view kHwSlowdownNow = "clocks.hw_slowdown";

Result<Observed> observe(const host::Host& host, const Request& request) {
  Observed observed = TRY(observe_gpus(host, request, {host::GpuGroup::clocks}, Vendors::nvidia));
  Observations slowdowns;
  for (const Observation& reasons : observed.observations) {
    const auto* bits = reasons.value ? std::get_if<std::int64_t>(&*reasons.value) : nullptr;
    if (reasons.name != kClocksEventReasons || bits == nullptr) continue;
    Observation& slowdown = slowdowns.emplace_back(reasons);
    slowdown.name = kHwSlowdownNow;
    slowdown.value = (static_cast<std::uint64_t>(*bits) & host::clocks_reason::kHwSlowdown) != 0;
  }
  std::ranges::move(slowdowns, std::back_inserter(observed.observations));
  return observed;
}

struct Share {
  double ratio = 0;
  Duration interval{0};
  bool is_sampled = false;  // from samples, not from a counter of time
};

std::optional<Share> counted_share(const JudgeInput& input, const Subject& gpu, std::string_view counter) {
  if (counter.empty()) return std::nullopt;
  const auto growth = input.history.growth(gpu, counter, input.now, kWindow);
  if (!growth) return std::nullopt;
  const double nanoseconds = static_cast<double>(growth->interval.count());
  return Share{std::min(growth->delta / nanoseconds, 1.0), growth->interval, false};
}

// Needs two samples with the bit, because one may be chance. Samples with a bit of `explained` do not count.
std::optional<Share> sampled_share(const JudgeInput& input, const Subject& gpu, std::uint64_t bit,
                                   std::uint64_t explained) {
  int samples = 0;
  int braked = 0;
  std::optional<MonoTime> first;
  for (const Sample& sample : input.history.samples(gpu, kClocksEventReasons)) {
    const auto* reasons = std::get_if<std::int64_t>(&sample.value);
    if (reasons == nullptr || sample.time < input.now.mono - kWindow) continue;
    if (!first) first = sample.time;
    ++samples;
    const auto bits = static_cast<std::uint64_t>(*reasons);
    if ((bits & bit) != 0 && (bits & explained) == 0) ++braked;
  }
  if (samples < 2) return std::nullopt;
  return Share{braked < 2 ? 0 : static_cast<double>(braked) / samples, input.now.mono - *first, true};
}

std::optional<Share> share_of(const JudgeInput& input, const Subject& gpu, const Brake& brake) {
  if (const auto share = counted_share(input, gpu, brake.counter)) return share;
  if (const auto share = counted_share(input, gpu, brake.fallback)) return share;
  return sampled_share(input, gpu, brake.bit, brake.explained);
}

bool judge_brake(const JudgeInput& input, const Subject& gpu, const Brake& brake, Findings& findings) {
  const auto share = share_of(input, gpu, brake);
  const Limit most = limit(input, brake.threshold);
  if (!share || share->ratio <= most.value) return false;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(share->interval);
  Finding finding =
      make_finding(input, gpu, brake.reason, Health::degraded,
                   gpu_text(gpu) + " was " + std::string(brake.what) + " for " + percent(share->ratio) +
                       " of the last " + format_duration(seconds) + " (limit " + percent(most.value) + ")",
                   share->ratio, most);
  finding.evidence.emplace_back("intervalSeconds", to_seconds(share->interval));
  finding.evidence.emplace_back("measuredBy", std::string(share->is_sampled ? "samples" : "counter"));
  findings.push_back(std::move(finding));
  return true;
}

Findings judge(const JudgeInput& input) {
  Findings findings;
  for (const Subject& gpu :
       readable_gpus(input, {kThrottleHwThermal, kThrottleSwThermal, kThrottleThermal, kClocksEventReasons},
                     findings)) {
    bool is_explained = false;
    for (const Brake& brake : kBrakes)
      if (judge_brake(input, gpu, brake, findings)) is_explained = true;
    if (!is_explained) judge_brake(input, gpu, kSlowdown, findings);
  }
  return findings;
}

}  // namespace
}  // namespace gpu_throttle

const Check kGpuThrottle = {
    .info = {.id = "gpu.throttle",
             .title = "GPU clock throttling",
             .tags = {"gpu", "performance", "passive"},
             .period = std::chrono::seconds{30},
             .deadline = std::chrono::seconds{10},
             .window = gpu_throttle::kWindow,
             .cost = Cost::moderate,
             .witnesses = {std::string(kNvml)},
             .rights = {},
             .needs_window = true},
    .observe = gpu_throttle::observe,
    .judge = gpu_throttle::judge,
};

}  // namespace autopilot::checks
