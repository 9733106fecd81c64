// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "checks/builtin.hpp"
#include "checks/gpu/gpu_check.hpp"
#include "checks/gpu/measured.hpp"
#include "checks/judgement.hpp"
#include "checks/last_results.hpp"

namespace autopilot::checks {
namespace gpu_pcie_bandwidth {
namespace {

constexpr std::string_view kId = "gpu.pcie_bandwidth";

constexpr std::string_view kOutcome = "pcie_bandwidth.outcome";
// Of each GPU, in GB/s: copies of pinned memory of the host, while no other GPU copied; both ways are the
// sum.
constexpr std::string_view kHostToDevice = "pcie_bandwidth.host_to_device";
constexpr std::string_view kDeviceToHost = "pcie_bandwidth.device_to_host";
constexpr std::string_view kBothWays = "pcie_bandwidth.both_ways";
// How many words of copies to the GPU and back were not what was sent.
constexpr std::string_view kWrong = "pcie_bandwidth.wrong";
constexpr std::array kFound{kHostToDevice, kWrong};

// Of the link of each GPU while it was measured, which is slower at rest: "5" and "16". Where nobody tells
// them, the GPU is judged by the fixed limit and its siblings.
constexpr std::string_view kGeneration = "pcie_bandwidth.generation";
constexpr std::string_view kLanes = "pcie_bandwidth.lanes";

constexpr std::string_view kUnit = "gigabytes_per_second";

Result<Observed> observe(const host::Host& host, const Request& request) {
  return last_results(host, request, kId, kProbe);
}

// A way of data, and what a link is known to carry of it: how much both ways together can be, no one says.
struct Way {
  std::string_view name;    // of the observation
  std::string_view before;  // and after the rate, in messages
  std::string_view after;
  std::optional<std::string_view> least{};  // a threshold, whatever the link
  bool fills_the_link = true;
};
constexpr std::array kWays{
    Way{kHostToDevice, "takes", "from the host", "gpu.pcie_bandwidth.host_to_device"},
    Way{kDeviceToHost, "gives", "to the host"},
    Way{.name = kBothWays, .before = "moves", .after = "both ways at once", .fills_the_link = false},
};

class BandwidthJudge {
 public:
  explicit BandwidthJudge(const JudgeInput& input)
      : input_(input),
        link_share_(limit(input, "gpu.pcie_bandwidth.link_share")),
        sibling_share_(limit(input, "gpu.pcie_bandwidth.sibling_share")) {}

  // At most one of each GPU: of the first way that is slow.
  void add_findings(Findings& findings) const {
    std::set<Subject> slow;
    for (const Way& way : kWays) {
      const std::vector<Measured> all = measured(input_, way.name);
      for (const Measured& gpu : all)
        if (auto finding = judge(way, gpu, all); finding && slow.insert(gpu.said->subject).second) {
          add_source(*finding, *gpu.said);
          findings.push_back(*std::move(finding));
        }
    }
  }

 private:
  struct Link {
    std::optional<double> generation;
    std::optional<double> lanes;
    friend bool operator==(const Link&, const Link&) = default;
  };

  [[nodiscard]] Link link_of(const Measured& gpu) const {
    return {input_.history.number(gpu.said->subject, kGeneration),
            input_.history.number(gpu.said->subject, kLanes)};
  }

  [[nodiscard]] std::optional<Finding> judge(const Way& way, const Measured& gpu,
                                             const std::vector<Measured>& all) const {
    if (way.least)
      if (const Limit least = limit(input_, *way.least); gpu.value < least.value)
        return finding(way, gpu, "pcie_bandwidth_low", least, "expected are " + rounded(least.value));
    const Link link = link_of(gpu);
    if (const auto able = way.fills_the_link ? rate_of(link) : std::nullopt) {
      const Limit least = share_of(link_share_, *able, kUnit);
      if (gpu.value < least.value)
        return finding(way, gpu, "pcie_bandwidth_low", least,
                       "generation " + rounded(link.generation.value_or(0)) + " with " +
                           rounded(link.lanes.value_or(0)) + " lanes has at least " + rounded(least.value));
    }
    const auto has_this_link = [&](const Measured& other) { return link_of(other) == link; };
    if (const auto usual = median_of_others(gpu, all, has_this_link)) {
      const Limit least = share_of(sibling_share_, *usual, kUnit);
      if (gpu.value < least.value)
        return finding(way, gpu, "pcie_bandwidth_sibling_differs", least,
                       "its siblings have " + rounded(*usual));
    }
    return std::nullopt;
  }

  [[nodiscard]] Finding finding(const Way& way, const Measured& gpu, std::string_view reason,
                                const Limit& least, const std::string& expected) const {
    return make_finding(input_, gpu.said->subject, reason, Health::degraded,
                        gpu_text(gpu.said->subject) + " " + std::string(way.before) + " " +
                            rounded(gpu.value) + " GB/s " + std::string(way.after) + "; " + expected,
                        gpu.value, least);
  }

  // What it can carry of data in one direction.
  [[nodiscard]] std::optional<double> rate_of(const Link& link) const {
    if (!link.generation || !link.lanes) return std::nullopt;
    if (*link.generation < 1 || *link.generation > 6) return std::nullopt;
    const Limit lane = limit(input_, "gpu.pcie_bandwidth.lane_gen" + rounded(std::round(*link.generation)));
    return lane.value * *link.lanes;
  }

  const JudgeInput& input_;
  const Limit link_share_;
  const Limit sibling_share_;
};

Findings judge(const JudgeInput& input) {
  Findings findings;
  add_unusable(input, {kOutcome, kMeasuredOutcomes, {}, kFound, {}}, findings);
  add_wrong(input, kWrong, "pcie_data_wrong", "got wrong words over its PCIe link", findings);
  BandwidthJudge(input).add_findings(findings);
  return findings;
}

}  // namespace
}  // namespace gpu_pcie_bandwidth

const Check kGpuPcieBandwidth = {
    .info = active_check_info(gpu_pcie_bandwidth::kId, "Measured PCIe bandwidth", "gpu", kProbe),
    .observe = gpu_pcie_bandwidth::observe,
    .judge = gpu_pcie_bandwidth::judge,
};

}  // namespace autopilot::checks
