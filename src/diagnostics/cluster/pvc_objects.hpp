// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "diagnostics/cluster/pvc_steps.hpp"

namespace autopilot::diagnostics {

// Where a node tests, and with what.
struct PvcPlace {
  std::string node;
  std::string node_uid;  // the objects go when the Node object goes
  std::string name_space;
  std::string prefix = "autopilot.ibm.com";  // of labels and annotations
  std::uint64_t bytes = 0;                   // of a claim
  std::string image;                         // of the pod that uses it; need not run
};

// The label that all objects of the tests of one node bear: "autopilot.ibm.com/pvc-test=gpu-7".
[[nodiscard]] std::string pvc_label(const PvcPlace& place);
// "autopilot-pvc-9a3f00d1c2b4e5f6": the same for the same node, class and access mode.
[[nodiscard]] std::string pvc_object_name(std::string_view node, const PvcTarget& target);

// The body of the request that makes the claim.
[[nodiscard]] std::string claim_json(const PvcPlace& place, const PvcTarget& target, const PvcNames& names);
// A pod that wants the claim on that node alone, tolerates its taints, holds no right and does nothing. The
// scheduler places it: a pod with a node of its own would never make a class give a volume.
[[nodiscard]] std::string consumer_json(const PvcPlace& place, const PvcNames& names, Duration lifetime);
// DeleteOptions: this one, and none that has the same name.
[[nodiscard]] std::string removal_json(std::string_view uid);

}  // namespace autopilot::diagnostics
