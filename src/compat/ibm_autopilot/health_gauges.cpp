// SPDX-License-Identifier: Apache-2.0
#include "compat/ibm_autopilot/health_gauges.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

#include "compat/ibm_autopilot/reading.hpp"

namespace autopilot::compat::ibm_autopilot {
namespace {

constexpr std::chrono::hours kKeepSilent{1};

std::optional<std::string> model_of_first_gpu(const NodeSnapshot& snapshot) {
  const Observation* first = nullptr;
  if (const CheckResult* result = find_result(snapshot, "gpu.present"))
    for (const Observation& observation : result->observations)
      if (observation.name == "gpu.model" &&
          (first == nullptr || observation.subject.index < first->subject.index))
        first = &observation;
  return first == nullptr ? std::nullopt : std::optional(word_of(*first));
}

}  // namespace

void HealthGauges::set(std::string_view health, const Subject& gpu, bool is_bad) {
  const std::string device = gpu.kind == SubjectKind::gpu ? device_id(gpu) : "";
  values_[{std::string(health), device}] = is_bad ? 1 : 0;
}

void HealthGauges::note(const NodeSnapshot& snapshot) {
  for (const auto& [gpu, is_bad] : flags(snapshot, remapped_question()))
    set("remapped", gpu, is_bad);
  for (const auto& [gpu, is_bad] : flags(snapshot, slowdown_question()))
    set("power-slowdown", gpu, is_bad);
  const auto tested = words(snapshot, "gpu.diagnosis", "deep_test.outcome");
  if (tested.contains("failed") || tested.contains("fatal"))
    set("dcgm", host_subject(), true);
  else if (tested.contains("passed"))
    set("dcgm", host_subject(), false);
  const auto claims = words(snapshot, "storage.pvc", "pvc.outcome");
  if (claims.contains("not_bound"))
    set("pvc", host_subject(), true);
  else if (claims.contains("bound"))
    set("pvc", host_subject(), false);
  note_measured(snapshot);
  note_peers(snapshot);
  if (gpu_model_ == "N/A") gpu_model_ = model_of_first_gpu(snapshot).value_or(gpu_model_);
}

void HealthGauges::note_measured(const NodeSnapshot& snapshot) {
  for (const auto& [gpu, rate] : of_gpus(snapshot, "gpu.pcie_bandwidth", "pcie_bandwidth.host_to_device"))
    if (const auto number = rate->value ? as_number(*rate->value) : std::nullopt)
      values_[{"pciebw", device_id(gpu)}] = *number;
  const auto tested = words(snapshot, "gpu.compute", "compute.result");
  if (!tested.empty()) values_[{"gpumem", "0"}] = tested.contains("failed") ? 1 : 0;
}

void HealthGauges::note_peers(const NodeSnapshot& snapshot) {
  const CheckResult* result = find_result(snapshot, "network.ping");
  if (result == nullptr || words(snapshot, "network.ping", "ping.outcome").empty()) return;
  std::erase_if(values_, [](const auto& one) { return one.first.first == "ping"; });
  for (const Observation& asked : result->observations) {
    if (asked.name != "ping.silent" || !asked.value) continue;
    const bool is_silent = as_number(*asked.value).value_or(0) != 0;
    values_[{"ping", asked.subject.key}] = is_silent ? 1 : 0;
    if (is_silent) silent_at_[asked.subject.key] = result->completed;
  }
  std::erase_if(silent_at_,
                [result](const auto& one) { return one.second + kKeepSilent <= result->completed; });
  for (const auto& [node, when] : silent_at_)
    values_.try_emplace({"ping", node}, 1);
}

std::vector<HealthGauge> HealthGauges::all() const {
  std::vector<HealthGauge> gauges;
  for (const auto& [key, value] : values_)
    gauges.push_back({key.first, key.second, value});
  return gauges;
}

std::string cpu_model(std::string name) {
  for (const char bracket : {'(', ')'})
    if (const auto at = name.find(bracket); at != std::string::npos) name.erase(at, 1);
  return name;
}

}  // namespace autopilot::compat::ibm_autopilot
