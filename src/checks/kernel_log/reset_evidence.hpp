// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "core/observation.hpp"

namespace autopilot::checks {

// A GPU begins anew by the word of its driver: what was said before about it is history.
struct SeenReset {
  Subject gpu;  // the host: every GPU and switch of the machine
  bool injected = false;
};

// THE rule for what a driver's record says about resets: the driver was loaded (all GPUs), it takes back
// its verdict that a GPU needs to be recovered (Xid 154 to None), or it says that it has reset one (AMD).
// Nothing for any other record, and for one that user space wrote or whose writer nobody can vouch for.
//
// Counters that fall prove nothing: volatile ECC counts can be cleared by hand without a reset, and lifetime
// counts survive one.
[[nodiscard]] std::optional<SeenReset> reset_in(const Observation& record);

// The real ones among these records, each GPU once.
[[nodiscard]] std::vector<Subject> resets_in(const Observations& records);

}  // namespace autopilot::checks
