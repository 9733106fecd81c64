// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <optional>

#include "checks/builtin.hpp"
#include "checks/gpu/gpu_check.hpp"

namespace autopilot::checks {
namespace gpu_temperature {
namespace {

using namespace host::reading;

Result<Observed> observe(const host::Host& host, const Request& request) {
  return observe_gpus(host, request, {host::GpuGroup::temperature});
}

struct Margin {
  double celsius = 0;      // negative: above the limit
  std::string_view verb;   // "is"
  std::string_view limit;  // "its slowdown temperature"
};

// The driver's own margin if it has one: GPUs since Hopper have no fixed limit in degrees.
std::optional<Margin> chip_margin(const JudgeInput& input, const Subject& gpu) {
  if (const auto margin = input.history.number(gpu, kTemperatureMargin))
    return Margin{*margin, "is", "its slowdown temperature"};
  const auto now = input.history.number(gpu, kTemperatureGpu);
  const auto slowdown = input.history.number(gpu, kTemperatureSlowdown);
  if (!now || !slowdown || *slowdown <= 0) return std::nullopt;
  return Margin{*slowdown - *now, "is", "its slowdown temperature"};
}

// A board without a memory sensor reports 0 or no value.
std::optional<Margin> memory_margin(const JudgeInput& input, const Subject& gpu) {
  const auto now = input.history.number(gpu, kTemperatureMemory);
  const auto most = input.history.number(gpu, kTemperatureMemoryMax);
  if (!now || !most || *now <= 0 || *most <= 0) return std::nullopt;
  return Margin{*most - *now, "has memory", "its maximum operating temperature"};
}

void judge_margin(const JudgeInput& input, const Subject& gpu, const Margin& margin, std::string_view reason,
                  std::string_view threshold, std::string_view reading, Findings& findings) {
  const Limit least = limit(input, threshold);
  if (margin.celsius > least.value) return;
  const auto celsius = input.history.number(gpu, reading);
  std::string message = gpu_text(gpu) + " " + std::string(margin.verb);
  if (celsius) message += " at " + rounded(*celsius) + " °C,";
  message += " " + rounded(std::abs(margin.celsius)) + " °C " + (margin.celsius < 0 ? "above " : "below ") +
             std::string(margin.limit);
  findings.push_back(make_finding(input, gpu, reason, Health::degraded, message, margin.celsius, least));
  if (celsius) findings.back().evidence.emplace_back("celsius", *celsius);
}

Findings judge(const JudgeInput& input) {
  Findings findings;
  for (const Subject& gpu : readable_gpus(input, {kTemperatureGpu, kTemperatureMargin}, findings)) {
    const auto chip = chip_margin(input, gpu);
    const auto memory = memory_margin(input, gpu);
    if (chip)
      judge_margin(input, gpu, *chip, "gpu_too_hot", "gpu.temperature.margin", kTemperatureGpu, findings);
    if (memory)
      judge_margin(input, gpu, *memory, "gpu_memory_too_hot", "gpu.temperature.memory_margin",
                   kTemperatureMemory, findings);
    if (!chip && !memory)
      findings.push_back(make_finding(input, gpu, "not_supported", Health::unsupported,
                                      gpu_text(gpu) + " reports no temperature limit to compare with"));
  }
  return findings;
}

}  // namespace
}  // namespace gpu_temperature

const Check kGpuTemperature = {
    .info = {.id = "gpu.temperature",
             .title = "GPU temperature",
             .tags = {"gpu", "thermal", "passive"},
             .period = std::chrono::seconds{30},
             .deadline = std::chrono::seconds{10},
             .window = std::chrono::minutes{10},
             .cost = Cost::moderate,
             .witnesses = {std::string(kNvml), std::string(kAmdgpu)},
             .rights = {},
             .needs_window = false},
    .observe = gpu_temperature::observe,
    .judge = gpu_temperature::judge,
};

}  // namespace autopilot::checks
