// SPDX-License-Identifier: Apache-2.0
#include "compat/ibm_autopilot/health_gauges.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <tuple>
#include <utility>

#include "compat/ibm_autopilot/node_answer.hpp"
#include "compat/ibm_autopilot/reading.hpp"
#include "core/observation.hpp"
#include "core/parse.hpp"

namespace autopilot::compat::ibm_autopilot {
namespace {

constexpr std::chrono::hours kKeepSilent{1};
// Nodes. With more nodes, each round tests other ones, and over time a metrics store would have a series of
// every pair.
constexpr std::int64_t kMostShown = 64;

std::optional<std::string> model_of_first_gpu(const NodeSnapshot& snapshot) {
  const Observation* first = nullptr;
  if (const CheckResult* result = find_result(snapshot, "gpu.present"))
    for (const Observation& observation : result->observations)
      if (observation.name == "gpu.model" &&
          (first == nullptr || observation.subject.index < first->subject.index))
        first = &observation;
  return first == nullptr ? std::nullopt : std::optional(word_of(*first));
}

// IBM Autopilot exports one value of all GPUs under the first GPU.
std::string device_of(const std::string& health, const Subject& of) {
  if (of.kind == SubjectKind::gpu) return device_id(of);
  return health == "gpumem" ? "0" : of.key;
}

// Number of nodes without this one.
std::int64_t others_beside(const CheckResult& result) {
  for (const Observation& one : result.observations)
    if (one.name == "ping.outcome")
      return parse_number<std::int64_t>(attribute_text(one, "others")).value_or(0);
  return 0;
}

}  // namespace

// The index of a GPU can become known later than its value.
void HealthGauges::set(const std::string& health, const Subject& of, double value) {
  auto& series = values_[health];
  series.erase(of);
  series.emplace(of, value);
}

void HealthGauges::note(const NodeSnapshot& snapshot) {
  for (const auto& [gpu, is_bad] : flags(snapshot, remapped_question()))
    set("remapped", gpu, is_bad ? 1 : 0);
  for (const auto& [gpu, is_bad] : flags(snapshot, slowdown_question()))
    set("power-slowdown", gpu, is_bad ? 1 : 0);
  if (const auto has_failed = has_failed_dcgm(snapshot)) set("dcgm", host_subject(), *has_failed ? 1 : 0);
  const auto claims = words(snapshot, "storage.pvc", "pvc.outcome");
  if (claims.contains("not_bound"))
    set("pvc", host_subject(), 1);
  else if (claims.contains("bound"))
    set("pvc", host_subject(), 0);
  note_measured(snapshot);
  note_peers(snapshot);
  if (gpu_model_ == "N/A") gpu_model_ = model_of_first_gpu(snapshot).value_or(gpu_model_);
}

void HealthGauges::note_measured(const NodeSnapshot& snapshot) {
  for (const auto& [gpu, rate] : of_gpus(snapshot, "gpu.pcie_bandwidth", "pcie_bandwidth.host_to_device"))
    if (const auto number = rate->value ? as_number(*rate->value) : std::nullopt) set("pciebw", gpu, *number);
  const CheckResult* compute = find_result(snapshot, "gpu.compute");
  if (compute == nullptr || !has_measured(*compute)) return;
  if (has_fault(*compute))
    set("gpumem", host_subject(), 1);
  else if (!has_unread(*compute))
    set("gpumem", host_subject(), 0);
}

void HealthGauges::note_peers(const NodeSnapshot& snapshot) {
  const CheckResult* result = find_result(snapshot, "network.ping");
  if (result == nullptr || words(snapshot, "network.ping", "ping.outcome").empty()) return;
  const std::int64_t others = others_beside(*result);
  auto& nodes = values_["ping"];
  nodes.clear();
  for (const Observation& asked : result->observations) {
    const auto silent = asked.name == "ping.silent" && asked.value ? as_number(*asked.value) : std::nullopt;
    if (!silent) continue;
    if (*silent != 0 || others <= kMostShown) nodes[asked.subject] = *silent != 0 ? 1 : 0;
    if (*silent != 0)
      silent_at_[asked.subject.key] = result->completed;
    else
      silent_at_.erase(asked.subject.key);
  }
  std::erase_if(silent_at_,
                [result](const auto& one) { return one.second + kKeepSilent <= result->completed; });
  for (const auto& [node, when] : silent_at_)
    nodes.try_emplace(Subject{SubjectKind::peer, node, std::nullopt, "", ""}, 1);
}

std::vector<HealthGauge> HealthGauges::all() const {
  std::vector<HealthGauge> gauges;
  for (const auto& [health, series] : values_)
    for (const auto& [of, value] : series)
      gauges.push_back({health, device_of(health, of), value});
  std::ranges::sort(gauges, {}, [](const HealthGauge& one) { return std::tie(one.health, one.device_id); });
  return gauges;
}

std::string cpu_model(std::string name) {
  for (const char bracket : {'(', ')'})
    if (const auto at = name.find(bracket); at != std::string::npos) name.erase(at, 1);
  return name;
}

}  // namespace autopilot::compat::ibm_autopilot
