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

// THE rule for what a record says about resets: the driver was loaded (all GPUs), it takes back its verdict
// that a GPU needs to be recovered (Xid 154 to None), it says that it has reset one (AMD), or the looks of
// all checks prove one together (seen_reset). Nothing for any other record, and for one that user space wrote
// or whose writer nobody can vouch for.
[[nodiscard]] std::optional<SeenReset> reset_in(const Observation& record);

// The event of a reset that no record tells of.
[[nodiscard]] Observation seen_reset(const Subject& gpu, Instant time);

// The real ones among these records, each GPU once.
[[nodiscard]] std::vector<Subject> resets_in(const Observations& records);

}  // namespace autopilot::checks
