// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/schedule/idle_now.hpp"

#include <algorithm>
#include <string_view>

#include "core/gpu_user.hpp"
#include "host/gpu/readings.hpp"

namespace autopilot::diagnostics {
namespace {

constexpr std::string_view kKubelet = "kubelet";
constexpr std::string_view kNvml = "nvml";  // the tests are of its GPUs
constexpr double kNobodyElse = 1;           // processes of a GPU that is tested

const Observation* find_of(const CheckResult& look, const Subject& subject, std::string_view name) {
  const auto found = std::ranges::find_if(
      look.observations, [&](const Observation& one) { return one.name == name && one.subject == subject; });
  return found == look.observations.end() ? nullptr : &*found;
}

std::optional<double> count_of(const CheckResult& look, const Subject& gpu) {
  const Observation* const told = find_of(look, gpu, host::reading::kProcesses);
  const bool is_told = told != nullptr && told->value && told->source == kNvml;
  return is_told ? as_number(*told->value) : std::nullopt;
}

bool is_divided(const CheckResult& look, const Subject& gpu) {
  const Observation* const told = find_of(look, gpu, host::reading::kMig);
  return told != nullptr && told->value && *told->value == Value(true);
}

// The pod that holds the GPU or a part of it; not set: none is known.
std::optional<GpuUser> holder_on(const CheckResult& look, const Subject& gpu) {
  for (const Observation& one : look.observations) {
    if (one.subject.key.substr(0, one.subject.key.find('/')) != gpu.key) continue;
    auto gpu_user = gpu_user_in(one);
    if (gpu_user && !gpu_user->is_process()) return gpu_user;
  }
  return std::nullopt;
}

std::string pod_on(const CheckResult& look, const Subject& gpu) {
  const auto holder = holder_on(look, gpu);
  return holder ? to_string(*holder) : "";
}

bool sees_all_processes(const CheckResult& look) {
  const Observation* const told = find_of(look, host_subject(), "processes.all_visible");
  return told != nullptr && told->value && *told->value == Value(true);
}

// "ml/train-0".
std::string name_of(const GpuUserOwner& owner) {
  return owner.pod_namespace + "/" + owner.pod;
}

bool has_kubelet_source(const CheckResult& look) {
  return std::ranges::find(look.witnesses, kKubelet) != look.witnesses.end();
}

// Why no GPU counts as idle, if it is not known which GPUs a pod has, or if processes may be hidden.
std::string holder_of_some(const GpuSight& sight) {
  if (has_kubelet_source(*sight.look)) return {};
  if (!sight.holder)
    return sees_all_processes(*sight.look) ? ""
                                           : "processes outside this PID namespace are not visible: the "
                                             "agent needs the machine's PID namespace";
  if (!*sight.holder) return "which pods hold GPUs is not known: " + sight.holder->error().what;
  return (*sight.holder)->empty() ? "" : "pod " + **sight.holder + " holds GPUs of this node";
}

std::string in_use_by(double processes) {
  return "is in use by " + autopilot::to_string(Value(processes)) +
         (processes == 1 ? " process" : " processes");
}

std::string why_not_idle(const CheckResult& look, const Subject& gpu) {
  if (const std::string pod = pod_on(look, gpu); !pod.empty()) return "is held by " + pod;
  const auto count = count_of(look, gpu);
  if (!count) return "has no process list from NVIDIA's driver";
  if (*count > 0) return in_use_by(*count);
  return is_divided(look, gpu) ? "is divided" : "";
}

}  // namespace

const CheckResult* look_at_processes(const NodeSnapshot& snapshot) {
  const auto look = std::ranges::find(snapshot.results, kProcesses, &CheckResult::check);
  return look == snapshot.results.end() ? nullptr : &*look;
}

IdleGpus idle_gpus(const GpuSight& sight) {
  IdleGpus found;
  if (sight.look == nullptr) {
    found.busy = "the users of the GPUs are not known: gpu.processes has not run";
    return found;
  }
  found.busy = holder_of_some(sight);
  if (!found.busy.empty()) return found;
  for (const Subject& gpu : sight.gpus) {
    const std::string why = why_not_idle(*sight.look, gpu);
    if (why.empty())
      found.idle.push_back(gpu);
    else if (found.busy.empty())
      found.busy = to_string(gpu) + " " + why;
  }
  return found;
}

std::string known_holder(const GpuSight& sight) {
  if (sight.holder && *sight.holder && !(*sight.holder)->empty())
    return "pod " + **sight.holder + " holds GPUs of this node";
  if (sight.look == nullptr) return {};
  for (const Observation& one : sight.look->observations) {
    const auto gpu_user = gpu_user_in(one);
    if (gpu_user && !gpu_user->is_process())
      return to_string(one.subject) + " is held by " + to_string(*gpu_user);
    const double processes =
        one.name == host::reading::kProcesses && one.value ? as_number(*one.value).value_or(0) : 0;
    if (processes > sight.own_processes(one.subject))
      return to_string(one.subject) + " " + in_use_by(processes);
  }
  return {};
}

std::string pod_holding(const GpuSight& sight, std::span<const Subject> gpus) {
  const bool asks_kubelet = sight.look != nullptr && has_kubelet_source(*sight.look);
  if (asks_kubelet) {
    for (const Subject& gpu : gpus.empty() ? sight.gpus : gpus)
      if (const auto holder = holder_on(*sight.look, gpu))
        return name_of(holder->owner) + " on " + to_string(gpu);
    return {};
  }
  const bool has_holder = sight.holder && *sight.holder && !(*sight.holder)->empty();
  return has_holder ? **sight.holder + ", and it is not known which GPUs of this node it has" : "";
}

std::string newcomer(const GpuSight& sight, std::span<const Subject> tested) {
  if (sight.look == nullptr) return {};
  if (std::string pod = holder_of_some(sight); !pod.empty()) return pod;
  for (const Subject& gpu : tested) {
    if (const std::string pod = pod_on(*sight.look, gpu); !pod.empty())
      return to_string(gpu) + " is held by " + pod;
    if (count_of(*sight.look, gpu).value_or(0) > kNobodyElse)
      return to_string(gpu) + " is in use by another process as well";
  }
  return {};
}

}  // namespace autopilot::diagnostics
