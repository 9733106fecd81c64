// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "checks/builtin.hpp"
#include "checks/diagnostic_results.hpp"
#include "checks/gpu/gpu_check.hpp"
#include "checks/judgement.hpp"

namespace autopilot::checks {
namespace gpu_pcie_bandwidth {
namespace {

constexpr std::string_view kId = "gpu.pcie_bandwidth";

constexpr std::string_view kOutcome = "pcie_bandwidth.outcome";
// For each GPU, in GB/s: copies of pinned host memory while no other GPU copies; the value of both directions
// is their sum.
constexpr std::string_view kHostToDevice = "pcie_bandwidth.host_to_device";
constexpr std::string_view kDeviceToHost = "pcie_bandwidth.device_to_host";
constexpr std::string_view kBothDirections = "pcie_bandwidth.both_ways";
// Number of wrong words in copies to the GPU and back.
constexpr std::string_view kWrong = "pcie_bandwidth.wrong";
constexpr std::array kFound{kHostToDevice, kWrong};

// PCIe generation and lanes of each GPU during the measurement (a link is slower at idle): "5" and "16". If
// missing, only the fixed limit and the siblings are compared.
constexpr std::string_view kGeneration = "pcie_bandwidth.generation";
constexpr std::string_view kLanes = "pcie_bandwidth.lanes";

constexpr std::string_view kUnit = "gigabytes_per_second";

Result<Observed> observe(const host::Host& host, const Request& request) {
  return last_results(host, request, kId, kProbe);
}

// A direction of the data. The maximum of both directions together is not specified.
struct Direction {
  std::string_view name;    // of the observation
  std::string_view before;  // text before and after the rate in messages
  std::string_view after;
  std::optional<std::string_view> least{};  // a threshold that does not depend on the link
  bool fills_the_link = true;
};
constexpr std::array kDirections{
    Direction{kHostToDevice, "receives", "from the host", "gpu.pcie_bandwidth.host_to_device"},
    Direction{kDeviceToHost, "sends", "to the host"},
    Direction{.name = kBothDirections,
              .before = "moves",
              .after = "in both directions at once",
              .fills_the_link = false},
};

class BandwidthJudge {
 public:
  explicit BandwidthJudge(const JudgeInput& input)
      : input_(input),
        link_share_(limit(input, "gpu.pcie_bandwidth.link_share")),
        sibling_share_(limit(input, "gpu.pcie_bandwidth.sibling_share")) {}

  // At most one finding for each GPU: for the first slow direction.
  void add_findings(Findings& findings) const {
    std::set<Subject> slow;
    for (const Direction& direction : kDirections) {
      const std::vector<Measured> all = measured(input_, direction.name);
      for (const Measured& gpu : all)
        if (auto finding = judge(direction, gpu, all); finding && slow.insert(gpu.result->subject).second) {
          add_source(*finding, *gpu.result);
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
    return {input_.history.number(gpu.result->subject, kGeneration),
            input_.history.number(gpu.result->subject, kLanes)};
  }

  [[nodiscard]] std::optional<Finding> judge(const Direction& direction, const Measured& gpu,
                                             const std::vector<Measured>& all) const {
    if (direction.least)
      if (const Limit least = limit(input_, *direction.least); gpu.value < least.value)
        return finding(direction, gpu, "pcie_bandwidth_low", least,
                       "expected: at least " + rounded(least.value));
    const Link link = link_of(gpu);
    if (const auto able = direction.fills_the_link ? rate_of(link) : std::nullopt) {
      const Limit least = share_of(link_share_, *able, kUnit);
      if (gpu.value < least.value)
        return finding(direction, gpu, "pcie_bandwidth_low", least,
                       "generation " + rounded(link.generation.value_or(0)) + " with " +
                           rounded(link.lanes.value_or(0)) + " lanes carries at least " +
                           rounded(least.value));
    }
    const auto has_this_link = [&](const Measured& other) { return link_of(other) == link; };
    if (const auto usual = median_of_others(gpu, all, has_this_link)) {
      const Limit least = share_of(sibling_share_, *usual, kUnit);
      if (gpu.value < least.value)
        return finding(direction, gpu, "pcie_bandwidth_sibling_differs", least,
                       "the median of its siblings is " + rounded(*usual));
    }
    return std::nullopt;
  }

  [[nodiscard]] Finding finding(const Direction& direction, const Measured& gpu, std::string_view reason,
                                const Limit& least, const std::string& expected) const {
    return make_finding(input_, gpu.result->subject, reason, Health::degraded,
                        gpu_text(gpu.result->subject) + " " + std::string(direction.before) + " " +
                            rounded(gpu.value) + " GB/s " + std::string(direction.after) + "; " + expected,
                        gpu.value, least);
  }

  // Payload rate of the link in one direction.
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
