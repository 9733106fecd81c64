// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace autopilot::kube {

// The image of a container of a pod.
struct ContainerImage {
  std::string name;   // of the container
  std::string image;  // as in the pod spec: "registry.example.com/autopilot:0.1.0"
  // The same by its digest, from the kubelet: "registry.example.com/autopilot@sha256:..."; empty if the
  // container has not started, or its image does not come from a registry.
  std::string pinned;
  friend bool operator==(const ContainerImage&, const ContainerImage&) = default;
};
// Images of the containers of a Pod, without init containers. malformed: not a JSON object.
[[nodiscard]] Result<std::vector<ContainerImage>> parse_container_images(std::string_view pod);

}  // namespace autopilot::kube
