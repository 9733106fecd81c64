// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <optional>

#include "checks/builtin.hpp"
#include "checks/diagnostic_results.hpp"
#include "checks/gpu/gpu_check.hpp"

namespace autopilot::checks {
namespace gpu_clocks {
namespace {

using namespace host::reading;

constexpr Duration kWindow = std::chrono::minutes{10};
constexpr std::string_view kBestClock = "clocks.sm.largest";  // largest median since the machine started

Result<Observed> observe(const host::Host& host, const Request& request) {
  return observe_gpus(host, request, {host::GpuGroup::clocks}, Vendors::nvidia);
}

// Clock of a GPU while it was busy and nothing limited it.
struct BusyClock {
  double megahertz = 0;  // the median
  std::size_t samples = 0;
  bool is_set_by_hand = false;  // application clocks were set during at least one sample
};

class ClocksJudge {
 public:
  explicit ClocksJudge(const JudgeInput& input)
      : input_(input),
        busy_(limit(input, "gpu.clocks.busy_share")),
        fewest_samples_(limit(input, "gpu.clocks.busy_looks")),
        share_(limit(input, "gpu.clocks.sibling_share")),
        own_share_(limit(input, "gpu.clocks.own_share")) {}

  [[nodiscard]] Findings findings() {
    const std::vector<Subject> gpus = readable_gpus(input_, {kUtilization}, findings_);
    for (const Subject& gpu : gpus) {
      const std::vector<Subject> same = alike(input_, gpu, gpus);
      if (same.size() < kFewestAlike)
        judge_alone(gpu);
      else
        judge_gpu(gpu, same);
    }
    return std::move(findings_);
  }

 private:
  [[nodiscard]] std::map<MonoTime, double> numbers(const Subject& gpu, std::string_view name) const {
    std::map<MonoTime, double> values;
    for (const Sample& sample : input_.history.samples(gpu, name))
      if (const auto number = as_number(sample.value); number && sample.time >= input_.now.mono - kWindow)
        values[sample.time] = *number;
    return values;
  }

  // nullopt: too few samples while it was busy.
  [[nodiscard]] std::optional<BusyClock> busy_clock(const Subject& gpu) const {
    const auto clocks = numbers(gpu, kClocksSm);
    const auto reasons = numbers(gpu, kClocksEventReasons);
    std::vector<double> values;
    BusyClock result;
    for (const auto& [time, load] : numbers(gpu, kUtilization)) {
      const auto clock = clocks.find(time);
      const auto reason = reasons.find(time);
      if (load < busy_.value || clock == clocks.end() || reason == reasons.end()) continue;
      const auto bits = static_cast<std::uint64_t>(reason->second);
      if ((bits & ~host::clocks_reason::kApplicationClocks) != 0) continue;
      values.push_back(clock->second);
      result.is_set_by_hand = result.is_set_by_hand || bits != 0;
    }
    if (static_cast<double>(values.size()) < fewest_samples_.value) return std::nullopt;
    result.samples = values.size();
    result.megahertz = median(std::move(values));
    return result;
  }

  void judge_gpu(const Subject& gpu, const std::vector<Subject>& same) {
    const auto own = busy_clock(gpu);
    if (!own) return;
    std::vector<double> others;
    for (const Subject& sibling : same) {
      if (sibling == gpu) continue;
      if (const auto clock = busy_clock(sibling)) others.push_back(clock->megahertz);
    }
    if (others.size() + 1 < kFewestAlike) return;
    const double usual = median(others);
    const double ratio = own->megahertz / usual;
    if (usual <= 0 || ratio >= share_.value) return;
    findings_.push_back(make_finding(input_, gpu, "clock_below_siblings", Health::degraded,
                                     gpu_text(gpu) + " runs at " + rounded(own->megahertz) +
                                         " MHz under load; the median of " + std::to_string(others.size()) +
                                         " other GPUs of its model is " + rounded(usual) +
                                         " MHz, and the driver reports no reason",
                                     ratio, share_));
    Attributes& evidence = findings_.back().evidence;
    evidence.emplace_back("megahertz", own->megahertz);
    evidence.emplace_back("siblingsMegahertz", usual);
    evidence.emplace_back("looks", static_cast<std::int64_t>(own->samples));
    evidence.emplace_back("applicationClocks", own->is_set_by_hand);
  }

  // One or two GPUs of a model cannot be compared with each other: each is compared with its own maximum.
  void judge_alone(const Subject& gpu) {
    const auto own = busy_clock(gpu);
    const auto best = input_.history.number(gpu, kBestClock);
    if (!own || own->is_set_by_hand || !best || *best <= 0) return;
    const double ratio = own->megahertz / *best;
    if (ratio >= own_share_.value) return;
    findings_.push_back(make_finding(input_, gpu, "clock_below_itself", Health::degraded,
                                     gpu_text(gpu) + " runs at " + rounded(own->megahertz) +
                                         " MHz under load; it has run at " + rounded(*best) +
                                         " MHz since the machine started, and the driver reports no reason",
                                     ratio, own_share_));
    Attributes& evidence = findings_.back().evidence;
    evidence.emplace_back("megahertz", own->megahertz);
    evidence.emplace_back("bestMegahertz", *best);
    evidence.emplace_back("looks", static_cast<std::int64_t>(own->samples));
  }

  const JudgeInput& input_;
  Limit busy_;
  Limit fewest_samples_;
  Limit share_;
  Limit own_share_;
  Findings findings_;
};

Findings judge(const JudgeInput& input) {
  return ClocksJudge(input).findings();
}

}  // namespace
}  // namespace gpu_clocks

const Check kGpuClocks = {
    .info = {.id = "gpu.clocks",
             .title = "GPU clock comparison",
             .tags = {"gpu", "performance", "passive"},
             .period = std::chrono::seconds{60},
             .deadline = std::chrono::seconds{10},
             .window = gpu_clocks::kWindow,
             .cost = Cost::moderate,
             .witnesses = {std::string(kNvml)},
             .rights = {},
             .needs_window = true,
             .baselines = {std::string(host::reading::kClocksSm)}},
    .observe = gpu_clocks::observe,
    .judge = gpu_clocks::judge,
};

}  // namespace autopilot::checks
