// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "core/observation.hpp"
#include "kube/objects.hpp"

namespace autopilot::kube {

// The pods of one node that hold its GPUs, according to the Kubernetes API. Pure; one owner.
class GpuPods {
 public:
  static constexpr std::string_view kSource = "api";
  // Limit of pods that hold GPUs; beyond it no pod is a candidate.
  static constexpr std::size_t kMaxPods = 256;

  // Forgets all pods; the pods that follow are the complete list.
  void clear();
  // pod: its current state, new or changed. True: the pods that hold GPUs have changed.
  bool put(const kube::Pod& pod);
  void remove(const kube::Pod& pod) { by_uid_.erase(pod.meta.uid); }

  // Each pod that was given GPUs and has not ended, as an observation of the host: the API does not report
  // which GPUs a pod has. Empty while any pod may hold a GPU unnoticed: a pod with a claim, which may be a
  // claim for a GPU.
  [[nodiscard]] Observations holders(Instant now) const;
  // "namespace/name" of a pod that has GPUs, or may have some by a claim; empty: none does.
  [[nodiscard]] std::string holder() const;

 private:
  struct Holder {
    std::string name_space;
    std::string name;
    bool is_known_to_hold = false;  // otherwise it has a claim
  };
  std::map<std::string, Holder, std::less<>> by_uid_;
  bool has_more_ = false;
};

// Whether a resource of Kubernetes is a GPU, or a part of one, in the words of NVIDIA's and AMD's device
// plugins.
[[nodiscard]] bool is_gpu_resource(std::string_view resource);

}  // namespace autopilot::kube
