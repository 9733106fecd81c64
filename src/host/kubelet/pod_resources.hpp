// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace autopilot::host {

// Devices of one kind that the kubelet gave to a container, whether or not it uses them. One container may
// have several of the same kind.
struct HeldDevices {
  std::string pod_namespace;
  std::string pod;
  std::string container;
  std::string resource;          // "nvidia.com/gpu"; for a claim the driver: "gpu.nvidia.com"
  std::vector<std::string> ids;  // as the device plugin or the driver calls them

  friend bool operator==(const HeldDevices&, const HeldDevices&) = default;
};

struct PodResources {
  static constexpr std::size_t kMaxPods = 10'000;
  static constexpr std::size_t kMaxHeld = 4096;
  static constexpr std::size_t kMaxIds = 16'384;  // of all together
  // Of a name or an id; the longest that Kubernetes allows is 317 (a prefix, a slash and a name).
  static constexpr std::size_t kMaxName = 320;

  std::vector<HeldDevices> held;  // containers without a device are left out
  std::size_t left_out = 0;       // devices beyond the limits, or with a name that is none

  // Printable ASCII without blanks, quotes and backslashes, not longer than kMaxName.
  [[nodiscard]] static bool is_name(std::string_view text);

  friend bool operator==(const PodResources&, const PodResources&) = default;
};

// A ListPodResourcesResponse of the kubelet's pod-resources API v1, as protobuf: devices of plugins and those
// of claims (DRA); fields that it does not know are skipped. malformed: no such message, or a pod without a
// name. exhausted: more than kMaxPods.
[[nodiscard]] Result<PodResources> parse_pod_resources(std::string_view message);

// As it travels from helper to agent; what is too much for one answer is left out and counted.
[[nodiscard]] std::string format_pod_resources(const PodResources& resources);
// malformed: what no helper of ours says.
[[nodiscard]] Result<PodResources> parse_pod_resources_answer(std::string_view text);

}  // namespace autopilot::host
