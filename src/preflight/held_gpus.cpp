// SPDX-License-Identifier: Apache-2.0
#include "preflight/held_gpus.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "kube/attribution/gpu_pods.hpp"

namespace autopilot::preflight {
namespace {

constexpr std::string_view kKubelet = "kubelet";

bool is_whole(std::string_view resource) {
  return kube::is_gpu_resource(resource) && resource.substr(resource.find('/') + 1) == "gpu";
}

// "pod ml/train-0", or the process if it belongs to no pod.
std::string name_of(const GpuUser& gpu_user) {
  GpuUser pod = gpu_user;
  if (!gpu_user.owner.pod.empty()) pod.pid = 0;
  return to_string(pod);
}

// The GPU of a GPU or of a part of one; null: not a GPU of this machine.
const Subject* gpu_of(const Subject& subject, std::span<const Subject> gpus) {
  if (subject.kind != SubjectKind::gpu && subject.kind != SubjectKind::gpu_instance) return nullptr;
  const std::string key = subject.key.substr(0, subject.key.find('/'));
  const auto found = std::ranges::find(gpus, key, &Subject::key);
  return found == gpus.end() ? nullptr : &*found;
}

// The kernel keeps fifteen letters of a name. An own diagnostic on these GPUs does not count as another user:
// its reservation makes the pod wait.
bool is_own_test(const GpuUser& gpu_user) {
  return gpu_user.process == std::string_view("autopilot-gpu-probe").substr(0, 15);
}

// GPUs of one pod and of all others, from one run of gpu.processes.
struct Seen {
  std::set<Subject> whole;
  std::set<Subject> parts;
  std::vector<std::pair<Subject, std::string>> others;  // GPU -> another holder or user
};

Seen seen_in(const CheckResult& look, const GpuClaim& claim, std::span<const Subject> gpus) {
  Seen seen;
  for (const Observation& one : look.observations) {
    const auto gpu_user = gpu_user_in(one);
    if (!gpu_user) continue;
    const Subject* gpu = gpu_of(one.subject, gpus);
    if (gpu == nullptr || !gpu_user->owner.candidate_by.empty() || is_own_test(*gpu_user)) continue;
    if (!is_same_pod(gpu_user->owner, claim.owner))
      seen.others.emplace_back(*gpu, name_of(*gpu_user));
    else if (!gpu_user->is_process())
      (one.subject.kind == SubjectKind::gpu ? seen.whole : seen.parts).insert(*gpu);
  }
  return seen;
}

bool has_looked(const CheckResult* look, std::string_view witness) {
  return look != nullptr && std::ranges::count(look->witnesses, witness) > 0;
}

std::vector<Subject> listed(const std::set<Subject>& chosen, std::span<const Subject> gpus) {
  std::vector<Subject> list;
  std::ranges::copy_if(gpus, std::back_inserter(list),
                       [&chosen](const Subject& gpu) { return chosen.contains(gpu); });
  return list;
}

HeldGpus all_of(std::span<const Subject> gpus, std::string untestable) {
  return {{gpus.begin(), gpus.end()}, false, std::move(untestable)};
}

// Other users of the GPUs: a diagnostic would disturb their work, and their work would distort its result.
std::string used_by_others(const std::vector<Subject>& gpus, const Seen& seen) {
  for (const auto& [gpu, who] : seen.others)
    if (std::ranges::find(gpus, gpu) != gpus.end()) return to_string(gpu) + " is in use by " + who;
  return {};
}

}  // namespace

GpuClaim claim_of(const kube::Pod& pod) {
  GpuClaim claim;
  claim.owner.pod_uid = pod.meta.uid;
  claim.owner.pod_namespace = pod.meta.name_space;
  claim.owner.pod = pod.meta.name;
  for (const auto& [resource, count] : pod.devices) {
    if (count == 0 || !kube::is_gpu_resource(resource)) continue;
    if (is_whole(resource))
      claim.whole += count;
    else
      claim.has_parts = true;
  }
  claim.has_claims = !pod.device_claims.empty();
  return claim;
}

HeldGpus held_gpus(const GpuClaim& claim, const GpuView& view) {
  const Seen seen = view.look == nullptr ? Seen{} : seen_in(*view.look, claim, view.gpus);
  const bool is_of_nobody = claim.owner.pod.empty();
  const auto count = static_cast<std::int64_t>(view.gpus.size());
  const bool has_all = claim.whole > 0 && claim.whole == count && view.allocatable.value_or(count) == count &&
                       !claim.has_parts;
  if (is_of_nobody || has_all) {
    HeldGpus all{{view.gpus.begin(), view.gpus.end()}, true, {}};
    all.untestable = used_by_others(all.gpus, seen);
    return all;
  }
  if (claim.whole == 0 && !claim.has_parts && !claim.has_claims) return {{}, true, {}};
  if (!has_looked(view.look, kKubelet))
    return all_of(view.gpus,
                  "it is not known which of the " + std::to_string(count) +
                      " GPUs of this node the pod has: the agent cannot ask the kubelet (profile full)");
  if (!seen.parts.empty()) {
    std::set<Subject> touched = seen.parts;
    touched.insert(seen.whole.begin(), seen.whole.end());
    return {listed(touched, view.gpus), true,
            "the pod has a part of a GPU, and others may have the rest of it"};
  }
  const auto told = static_cast<std::int64_t>(seen.whole.size());
  if (told == 0 || told < claim.whole || claim.has_parts)
    return all_of(view.gpus, "the kubelet reports " + std::to_string(told) +
                                 " of the GPUs of the pod, which asks for " +
                                 (claim.whole > 0 ? std::to_string(claim.whole) : "others"));
  HeldGpus held{listed(seen.whole, view.gpus), true, {}};
  held.untestable = used_by_others(held.gpus, seen);
  return held;
}

}  // namespace autopilot::preflight
