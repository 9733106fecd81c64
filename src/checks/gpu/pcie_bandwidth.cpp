// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checks/builtin.hpp"
#include "checks/gpu/gpu_check.hpp"
#include "checks/judgement.hpp"
#include "checks/last_results.hpp"
#include "core/attribute_text.hpp"

namespace autopilot::checks {
namespace {

constexpr std::string_view kId = "gpu.pcie_bandwidth";
constexpr std::string_view kWitness = "probe";

// Of the host: "measured"; "in_use" with `by`, where somebody's work kept the last test from running, beside
// what the test before it measured.
constexpr std::string_view kOutcome = "pcie_bandwidth.outcome";
// Of each GPU, in GB/s: copies of pinned memory of the host.
constexpr std::string_view kHostToDevice = "pcie_bandwidth.host_to_device";

// Of the link of each GPU while it was measured, which is slower at rest: "5" and "16". Where nobody tells
// them, the GPU is judged by the fixed limit and its siblings.
constexpr std::string_view kGeneration = "pcie_bandwidth.generation";
constexpr std::string_view kLanes = "pcie_bandwidth.lanes";

constexpr std::array<std::string_view, 2> kOutcomes{"measured", "in_use"};

Result<Observed> observe(const host::Host& host, const Request& request) {
  return last_results(host, request, kId, kWitness);
}

class BandwidthJudge {
 public:
  explicit BandwidthJudge(const JudgeInput& input)
      : input_(input),
        least_(limit(input, "gpu.pcie_bandwidth.host_to_device")),
        link_share_(limit(input, "gpu.pcie_bandwidth.link_share")),
        sibling_share_(limit(input, "gpu.pcie_bandwidth.sibling_share")) {}

  void add_findings(Findings& findings) const {
    const std::vector<Measured> all = measured();
    for (const Measured& gpu : all)
      if (auto finding = judge(gpu, all)) {
        finding->evidence.emplace_back("testedAt", attribute_text(*gpu.said, "testedAt"));
        finding->evidence.emplace_back("witness", gpu.said->source);
        findings.push_back(*std::move(finding));
      }
  }

 private:
  struct Measured {
    const Observation* said = nullptr;
    double rate = 0;
    std::optional<double> generation;
    std::optional<double> lanes;

    [[nodiscard]] bool has_link_of(const Measured& other) const {
      return generation == other.generation && lanes == other.lanes;
    }
  };

  [[nodiscard]] std::vector<Measured> measured() const {
    std::vector<Measured> all;
    for (const Observation& said : input_.history.latest()) {
      const auto rate = said.name == kHostToDevice && said.value ? as_number(*said.value) : std::nullopt;
      if (rate)
        all.push_back({&said, *rate, input_.history.number(said.subject, kGeneration),
                       input_.history.number(said.subject, kLanes)});
    }
    return all;
  }

  [[nodiscard]] std::optional<Finding> judge(const Measured& gpu, const std::vector<Measured>& all) const {
    if (gpu.rate < least_.value)
      return finding(gpu, "pcie_bandwidth_low", least_, "expected are " + rounded(least_.value));
    if (const auto able = link_rate(gpu)) {
      const Limit least = of(link_share_, *able);
      if (gpu.rate < least.value)
        return finding(gpu, "pcie_bandwidth_low", least,
                       "generation " + rounded(gpu.generation.value_or(0)) + " with " +
                           rounded(gpu.lanes.value_or(0)) + " lanes has at least " + rounded(least.value));
    }
    if (const auto median = median_of_siblings(gpu, all)) {
      const Limit least = of(sibling_share_, *median);
      if (gpu.rate < least.value)
        return finding(gpu, "pcie_bandwidth_sibling_differs", least, "its siblings have " + rounded(*median));
    }
    return std::nullopt;
  }

  [[nodiscard]] Finding finding(const Measured& gpu, std::string_view reason, const Limit& least,
                                const std::string& expected) const {
    return make_finding(
        input_, gpu.said->subject, reason, Health::degraded,
        gpu_text(gpu.said->subject) + " takes " + rounded(gpu.rate) + " GB/s from the host; " + expected,
        gpu.rate, least);
  }

  // A share of a rate, as a rate.
  [[nodiscard]] static Limit of(Limit share, double rate) {
    share.value *= rate;
    share.unit = "gigabytes_per_second";
    return share;
  }

  // What the link can carry of data in one direction.
  [[nodiscard]] std::optional<double> link_rate(const Measured& gpu) const {
    if (!gpu.generation || !gpu.lanes) return std::nullopt;
    if (*gpu.generation < 1 || *gpu.generation > 6) return std::nullopt;
    const Limit lane = limit(input_, "gpu.pcie_bandwidth.lane_gen" + rounded(std::round(*gpu.generation)));
    return lane.value * *gpu.lanes;
  }

  // Of GPUs with the same link; of two that differ nobody knows which one is right.
  [[nodiscard]] static std::optional<double> median_of_siblings(const Measured& gpu,
                                                                const std::vector<Measured>& all) {
    std::vector<double> rates;
    for (const Measured& other : all)
      if (&other != &gpu && other.has_link_of(gpu)) rates.push_back(other.rate);
    if (rates.size() + 1 < kFewestAlike) return std::nullopt;
    const auto middle = rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2);
    std::ranges::nth_element(rates, middle);
    return *middle;
  }

  const JudgeInput& input_;
  const Limit least_;
  const Limit link_share_;
  const Limit sibling_share_;
};

Findings judge(const JudgeInput& input) {
  Findings findings;
  add_unusable(input, {kOutcome, kOutcomes, {}, kHostToDevice, {}}, findings);
  BandwidthJudge(input).add_findings(findings);
  return findings;
}

}  // namespace

const Check kGpuPcieBandwidth = {
    .info = active_check_info(kId, "Measured PCIe bandwidth", "gpu", kWitness),
    .observe = observe,
    .judge = judge,
};

}  // namespace autopilot::checks
