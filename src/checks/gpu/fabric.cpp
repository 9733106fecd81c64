// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdint>

#include "checks/builtin.hpp"
#include "checks/gpu/gpu_check.hpp"

namespace autopilot::checks {
namespace gpu_fabric {
namespace {

using namespace host::reading;
using host::FabricState;

Result<Observed> observe(const host::Host& host, const Request& request) {
  return observe_gpus(host, request, {host::GpuGroup::fabric}, Vendors::nvidia);
}

// A part of the health mask that reports a problem if it is 1.
struct Trouble {
  host::FabricPart part;
  std::string_view reason;
  Health health;
  std::string_view message;
};

constexpr unsigned kTrue = 1;
constexpr unsigned kFalse = 2;

constexpr std::array kTroubles{
    Trouble{host::fabric_mask::kRouteUnhealthy, "fabric_route_unhealthy", Health::failed,
            "has a broken route to other GPUs"},
    Trouble{host::fabric_mask::kBandwidthLow, "fabric_bandwidth_low", Health::degraded,
            "has reduced bandwidth to other GPUs"},
    Trouble{host::fabric_mask::kRouteRecovery, "fabric_recovering", Health::degraded,
            "is recovering a route to other GPUs"},
    Trouble{host::fabric_mask::kAccessTimeoutRecovery, "fabric_recovering", Health::degraded,
            "is recovering from a timeout of an access to another GPU"},
};

// By the number of the part; 0 is not reported, 1 is correct.
constexpr std::array<std::string_view, 9> kWrong{
    "",
    "",
    "the system GUID differs from that of the fabric",
    "the serial number of the chassis differs from that of the fabric",
    "it belongs to no partition",
    "it has too few NVLinks",
    "the firmware of the GPU is not compatible",
    "its position in the chassis is not valid",
    "the state of the GPU is not valid",
};

class FabricJudge {
 public:
  explicit FabricJudge(const JudgeInput& input) : input_(input) {}

  [[nodiscard]] Findings findings() {
    const std::vector<Subject> gpus = readable_gpus(input_, {kFabricState}, findings_);
    const auto without = static_cast<std::size_t>(
        std::count_if(gpus.begin(), gpus.end(), [this](const Subject& gpu) { return !has_fabric(gpu); }));
    if (!gpus.empty() && without == gpus.size()) {
      findings_ = {make_finding(input_, host_subject(), "not_supported", Health::unsupported,
                                "no GPU of this machine is part of an NVLink fabric")};
      return std::move(findings_);
    }
    for (const Subject& gpu : gpus) {
      if (has_fabric(gpu))
        judge_gpu(gpu);
      else
        judge_without_fabric(gpu, gpus.size() - without);
    }
    return std::move(findings_);
  }

 private:
  [[nodiscard]] FabricState state(const Subject& gpu) const {
    return static_cast<FabricState>(static_cast<int>(number(gpu, kFabricState)));
  }
  [[nodiscard]] bool has_fabric(const Subject& gpu) const { return state(gpu) != FabricState::not_supported; }
  [[nodiscard]] double number(const Subject& gpu, std::string_view name) const {
    return input_.history.number(gpu, name).value_or(0);
  }

  void add(const Subject& gpu, std::string_view reason, Health health, const std::string& what) {
    findings_.push_back(make_finding(input_, gpu, reason, health, gpu_text(gpu) + " " + what));
    Attributes& evidence = findings_.back().evidence;
    evidence.emplace_back("state", static_cast<std::int64_t>(number(gpu, kFabricState)));
    if (const auto mask = input_.history.number(gpu, kFabricHealthMask))
      evidence.emplace_back("healthMask", static_cast<std::int64_t>(*mask));
    if (const auto cluster = input_.history.word(gpu, kFabricCluster))
      evidence.emplace_back("cluster", *cluster);
  }

  void judge_without_fabric(const Subject& gpu, std::size_t others) {
    if (others + 1 < kFewestAlike) return;
    add(gpu, "fabric_not_ready", Health::degraded,
        "reports no NVLink fabric, but " + std::to_string(others) + " other GPUs have one");
  }

  void judge_gpu(const Subject& gpu) {
    switch (state(gpu)) {
      case FabricState::completed:
        return judge_registered(gpu);
      case FabricState::in_progress:
        return add(gpu, "fabric_not_ready", Health::failed, "is not yet registered with the NVLink fabric");
      case FabricState::not_started:
        return add(gpu, "fabric_not_ready", Health::failed,
                   "has not started to register with the NVLink fabric");
      default:
        return add(gpu, "could_not_look", Health::unknown,
                   "reports an unknown state of its NVLink fabric: " + rounded(number(gpu, kFabricState)));
    }
  }

  void judge_registered(const Subject& gpu) {
    if (const double status = number(gpu, kFabricStatus); status != 0) {
      add(gpu, "fabric_failed", Health::failed,
          "failed to register with the NVLink fabric (NVML code " + rounded(status) + ")");
      findings_.back().evidence.emplace_back("status", static_cast<std::int64_t>(status));
      return;
    }
    const auto mask = static_cast<std::uint64_t>(number(gpu, kFabricHealthMask));
    for (const Trouble& trouble : kTroubles) {
      const bool is_reported =
          !findings_.empty() && findings_.back().subject == gpu && findings_.back().reason == trouble.reason;
      if (trouble.part.of(mask) == kTrue && !is_reported)
        add(gpu, trouble.reason, trouble.health, std::string(trouble.message));
    }
    judge_configuration(gpu, mask);
  }

  void judge_configuration(const Subject& gpu, std::uint64_t mask) {
    const unsigned wrong = host::fabric_mask::kConfiguration.of(mask);
    std::string why;
    if (wrong > 1)
      why = wrong < kWrong.size() ? std::string(kWrong.at(wrong)) : "cause " + std::to_string(wrong);
    if (why.empty() && host::fabric_mask::kPartitionAssigned.of(mask) == kFalse)
      why = "it belongs to no partition";
    if (!why.empty())
      add(gpu, "fabric_misconfigured", Health::degraded, "does not match its NVLink fabric: " + why);
  }

  const JudgeInput& input_;
  Findings findings_;
};

Findings judge(const JudgeInput& input) {
  return FabricJudge(input).findings();
}

}  // namespace
}  // namespace gpu_fabric

const Check kGpuFabric = {
    .info = {.id = "gpu.fabric",
             .title = "GPU NVLink fabric",
             .tags = {"gpu", "nvlink", "passive"},
             .period = std::chrono::seconds{60},
             .deadline = std::chrono::seconds{10},
             .window = std::chrono::minutes{10},
             .cost = Cost::moderate,
             .witnesses = {std::string(kNvml)},
             .rights = {},
             .needs_window = false},
    .observe = gpu_fabric::observe,
    .judge = gpu_fabric::judge,
};

}  // namespace autopilot::checks
