// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace autopilot::kube {

// What a container of a pod runs.
struct ContainerImage {
  std::string name;   // of the container
  std::string image;  // as the pod asks for it: "registry.example.com/autopilot:0.1.0"
  // The same by its digest, as the kubelet says it: "registry.example.com/autopilot@sha256:..."; empty where
  // the container has not begun, or its image came from no registry.
  std::string pinned;
  friend bool operator==(const ContainerImage&, const ContainerImage&) = default;
};
// Of the containers of a Pod, but for those that begin. malformed: no JSON object.
[[nodiscard]] Result<std::vector<ContainerImage>> parse_container_images(std::string_view pod);

}  // namespace autopilot::kube
