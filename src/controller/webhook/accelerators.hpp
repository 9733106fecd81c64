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

// What a container says of a claim of its pod: all of it, or one request inside it.
struct ClaimUse {
  std::string claim;
  std::string request;  // empty: all of it
  friend auto operator<=>(const ClaimUse&, const ClaimUse&) = default;
};

// How many of each resource.
using Counts = std::map<std::string, std::int64_t, std::less<>>;

// The accelerators that a pod has for itself.
struct AcceleratorNeeds {
  // What the scheduler sets aside for the pod: containers run side by side; before them run those that begin,
  // one after the other, of which some stay. One more that begins and asks for as many makes that no more.
  Counts devices;
  std::vector<ClaimUse> claims;  // of all containers, each once
  // The first container that asks for some; valid as long as the pod.
  const boost::json::object* container = nullptr;

  [[nodiscard]] bool has_any() const { return container != nullptr; }
};

// `but`: a container of that name that begins does not count.
[[nodiscard]] AcceleratorNeeds accelerator_needs(const boost::json::object& pod,
                                                 const AcceleratorNames& names, std::string_view but);
[[nodiscard]] bool asks_for_accelerators(const boost::json::object& container, const AcceleratorNames& names);
// How the pod asks for a share of a GPU that others use at the same time, for a person: "container train asks
// for a share of a GPU by nvidia.com/gpumem". Empty: it does not. By the names of the resources of its
// containers, `but` left out, and of its node selector; where a cluster gives out shares under the name of
// whole GPUs, no pod shows it.
[[nodiscard]] std::string asked_share(const boost::json::object& pod, std::string_view but);
[[nodiscard]] bool is_accelerator(std::string_view resource, const AcceleratorNames& names);

}  // namespace autopilot::controller
