// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <optional>

#include "checks/builtin.hpp"
#include "checks/gpu/gpu_check.hpp"

namespace autopilot::checks {
namespace gpu_power {
namespace {

using namespace host::reading;

Result<Observed> observe(const host::Host& host, const Request& request) {
  return observe_gpus(host, request, {host::GpuGroup::power});
}

class PowerJudge {
 public:
  explicit PowerJudge(const JudgeInput& input)
      : input_(input), share_(limit(input, "gpu.power.limit_share")) {}

  [[nodiscard]] Findings findings() {
    gpus_ = readable_gpus(input_, {kPowerLimit}, findings_);
    for (const Subject& gpu : gpus_)
      judge_gpu(gpu);
    return std::move(findings_);
  }

 private:
  [[nodiscard]] std::optional<double> number(const Subject& gpu, std::string_view name) const {
    return input_.history.number(gpu, name);
  }
  // The configured limit; older drivers report only the limit in force.
  [[nodiscard]] std::optional<double> set_limit(const Subject& gpu) const {
    const auto requested = number(gpu, kPowerLimitRequested);
    return requested ? requested : number(gpu, kPowerLimit);
  }
  [[nodiscard]] bool is_lower(double watts, double than) const { return watts < than * share_.value; }

  void judge_gpu(const Subject& gpu) {
    const auto in_force = number(gpu, kPowerLimit);
    const auto set = set_limit(gpu);
    if (!in_force || !set) return;
    if (is_lower(*in_force, *set)) return add_held_down(gpu, *in_force, *set);
    const auto usual = usual_limit(gpu);
    if (usual && is_lower(*set, *usual))
      return add_low(gpu, *set, *usual, "most other GPUs of its model may draw " + rounded(*usual) + " W");
    const auto factory = number(gpu, kPowerLimitDefault);
    // A limit that most GPUs of the machine share is intended.
    if (usual || !factory || !is_lower(*set, *factory)) return;
    add_low(gpu, *set, *factory, "its default is " + rounded(*factory) + " W");
  }

  // The limit that more than half of the GPUs of the model have; nullopt if these are too few.
  [[nodiscard]] std::optional<double> usual_limit(const Subject& gpu) const {
    const std::vector<Subject> same = alike(input_, gpu, gpus_);
    if (same.size() < kFewestAlike) return std::nullopt;
    std::map<double, std::size_t> votes;
    for (const Subject& other : same)
      if (const auto watts = set_limit(other)) ++votes[*watts];
    for (const auto& [watts, count] : votes)
      if (count * 2 > same.size()) return watts;
    return std::nullopt;
  }

  void add_held_down(const Subject& gpu, double in_force, double set) {
    add(gpu, "power_limit_held_down", in_force, set,
        "may draw only " + rounded(in_force) + " W, although its limit is set to " + rounded(set) + " W");
  }
  void add_low(const Subject& gpu, double watts, double expected, const std::string& comparison) {
    add(gpu, "power_limit_low", watts, expected, "is limited to " + rounded(watts) + " W, " + comparison);
  }
  void add(const Subject& gpu, std::string_view reason, double watts, double expected,
           const std::string& what) {
    findings_.push_back(make_finding(input_, gpu, reason, Health::degraded, gpu_text(gpu) + " " + what,
                                     watts / expected, share_));
    findings_.back().evidence.emplace_back("watts", watts);
    findings_.back().evidence.emplace_back("expectedWatts", expected);
  }

  const JudgeInput& input_;
  Limit share_;
  std::vector<Subject> gpus_;
  Findings findings_;
};

Findings judge(const JudgeInput& input) {
  return PowerJudge(input).findings();
}

}  // namespace
}  // namespace gpu_power

const Check kGpuPower = {
    .info = {.id = "gpu.power",
             .title = "GPU power limit",
             .tags = {"gpu", "configuration", "performance", "passive"},
             .period = std::chrono::minutes{2},
             .deadline = std::chrono::seconds{10},
             .window = std::chrono::minutes{10},
             .cost = Cost::moderate,
             .witnesses = {std::string(kNvml), std::string(kAmdgpu)},
             .rights = {},
             .needs_window = false},
    .observe = gpu_power::observe,
    .judge = gpu_power::judge,
};

}  // namespace autopilot::checks
