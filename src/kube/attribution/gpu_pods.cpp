// SPDX-License-Identifier: Apache-2.0
#include "kube/attribution/gpu_pods.hpp"

#include <algorithm>

#include "core/gpu_user.hpp"

namespace autopilot::kube {
namespace {

bool has_gpus(const kube::Pod& pod) {
  return std::ranges::any_of(
      pod.devices, [](const auto& device) { return device.second > 0 && is_gpu_resource(device.first); });
}

}  // namespace

bool is_gpu_resource(std::string_view resource) {
  const std::size_t slash = resource.find('/');
  const std::string_view vendor = resource.substr(0, slash);
  if (slash == std::string_view::npos || (vendor != "nvidia.com" && vendor != "amd.com")) return false;
  // "gpu", a shared GPU "gpu.shared", a part "mig-1g.10gb".
  const std::string_view name = resource.substr(slash + 1);
  return name == "gpu" || name.starts_with("gpu.") || name.starts_with("mig-");
}

void GpuPods::clear() {
  by_uid_.clear();
  has_more_ = false;
}

bool GpuPods::put(const kube::Pod& pod) {
  const bool is_known_to_hold = has_gpus(pod);
  if (pod.is_over() || (!is_known_to_hold && pod.device_claims.empty()))
    return by_uid_.erase(pod.meta.uid) > 0;
  if (by_uid_.contains(pod.meta.uid)) return false;
  has_more_ = has_more_ || by_uid_.size() == kMaxPods;
  if (!has_more_) by_uid_[pod.meta.uid] = {pod.meta.name_space, pod.meta.name, is_known_to_hold};
  return true;
}

Observations GpuPods::holders(Instant now) const {
  Observations holders;
  if (has_more_) return holders;
  for (const auto& [uid, holder] : by_uid_) {
    if (!holder.is_known_to_hold) return {};
    GpuUser gpu_user;
    gpu_user.owner.pod_uid = uid;
    gpu_user.owner.pod_namespace = holder.name_space;
    gpu_user.owner.pod = holder.name;
    gpu_user.owner.candidate_by = kSource;
    holders.push_back(to_observation(gpu_user, host_subject(), kSource, now));
  }
  return holders;
}

std::string GpuPods::holder() const {
  if (by_uid_.empty()) return {};
  const Holder& first = by_uid_.begin()->second;
  return first.name_space + "/" + first.name;
}

}  // namespace autopilot::kube
