// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compat/ibm_autopilot/reading.hpp"
#include "core/snapshot.hpp"

namespace autopilot::compat::ibm_autopilot {

// Whether something is wrong with each GPU; nothing where that could not be read.
struct GpuFlag {
  Subject gpu;
  std::optional<bool> is_bad;
};

// What a check that gives a 0 or 1 for each GPU has to show.
class GpuFlags {
 public:
  // A GPU of which the check itself says unknown, or gpu.present failed, belongs to them, unread where
  // nothing was read.
  GpuFlags(const NodeSnapshot& snapshot, const GpuQuestion& question);

  [[nodiscard]] bool is_empty() const { return flags_.empty(); }
  [[nodiscard]] bool any_bad() const;
  [[nodiscard]] bool any_unread() const;
  // "0 1 2 3 Total: 4"
  [[nodiscard]] std::string gpus() const;
  // "0 1 0 nan"
  [[nodiscard]] std::string values() const;

 private:
  std::vector<GpuFlag> flags_;  // in order of the driver's numbers
};

}  // namespace autopilot::compat::ibm_autopilot
