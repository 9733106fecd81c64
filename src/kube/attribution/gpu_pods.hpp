// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "core/observation.hpp"
#include "kube/objects.hpp"

namespace autopilot::kube {

// The pods of one node that hold GPUs of it, by the word of the Kubernetes API. Pure; one owner.
class GpuPods {
 public:
  static constexpr std::string_view kSource = "api";
  // Those that hold GPUs; of more nobody is a candidate.
  static constexpr std::size_t kMaxPods = 256;

  // Everything that is known goes; what follows is all there is.
  void clear();
  // As it is now, new or changed. True when that changes who holds GPUs.
  bool put(const kube::Pod& pod);
  void remove(const kube::Pod& pod) { by_uid_.erase(pod.meta.uid); }

  // Each pod that was given GPUs and has not ended, seen at the host: which of its GPUs the API does not
  // tell. Nothing while somebody might hold one of whom that is not known: a pod with a claim, which may be
  // one for a GPU.
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
