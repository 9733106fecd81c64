// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compat/ibm_autopilot/reading.hpp"
#include "core/snapshot.hpp"

namespace autopilot::compat::ibm_autopilot {

// True if the GPU has a fault; nullopt if the value could not be read.
struct GpuFlag {
  Subject gpu;
  std::optional<bool> is_bad;
};

// The data of a check that gives a 0 or 1 for each GPU.
class GpuFlags {
 public:
  // Includes GPUs for which the check itself is unknown or gpu.present failed, as not read if there is no
  // value.
  GpuFlags(const NodeSnapshot& snapshot, const GpuQuestion& question);

  [[nodiscard]] bool is_empty() const { return flags_.empty(); }
  [[nodiscard]] bool any_bad() const;
  [[nodiscard]] bool any_unread() const;
  // "0 1 2 3 Total: 4"
  [[nodiscard]] std::string gpus() const;
  // "0 1 0 nan"
  [[nodiscard]] std::string values() const;

 private:
  std::vector<GpuFlag> flags_;  // ordered by the driver's index
};

}  // namespace autopilot::compat::ibm_autopilot
