// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "controller/webhook/settings.hpp"

namespace autopilot::controller {

// Use of a ResourceClaim by a container: the whole claim, or one request in it.
struct ClaimUse {
  std::string claim;
  std::string request;  // empty: the whole claim
  friend auto operator<=>(const ClaimUse&, const ClaimUse&) = default;
};

// Quantity by resource name.
using Counts = std::map<std::string, std::int64_t, std::less<>>;

// The accelerators of a pod.
struct AcceleratorNeeds {
  // Quantities that the scheduler reserves for the pod: containers run concurrently; before them, init
  // containers run one after the other, and sidecars keep running. Another init container with the same
  // requests does not change the sum.
  Counts devices;
  std::vector<ClaimUse> claims;  // of all containers, without duplicates
  // The first container with accelerators; valid as long as the pod.
  const boost::json::object* container = nullptr;

  [[nodiscard]] bool has_any() const { return container != nullptr; }
};

// `but`: an init container of that name is left out.
[[nodiscard]] AcceleratorNeeds accelerator_needs(const boost::json::object& pod,
                                                 const AcceleratorNames& names, std::string_view but);
[[nodiscard]] bool asks_for_accelerators(const boost::json::object& container, const AcceleratorNames& names);
// How the pod requests a share of a GPU, for people: "container train asks for a share of a GPU by
// nvidia.com/gpumem". Empty: it does not. Uses the resource names of its containers without `but`, and its
// node selector. Shares under the resource names of whole GPUs cannot be recognized.
[[nodiscard]] std::string asked_share(const boost::json::object& pod, std::string_view but);
[[nodiscard]] bool is_accelerator(std::string_view resource, const AcceleratorNames& names);

}  // namespace autopilot::controller
