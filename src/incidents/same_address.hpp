// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/finding.hpp"

namespace autopilot::incidents {

// Both are about the device at one PCI address: a GPU, a switch, an adapter by its address, or a link whose
// device it is. An adapter and the port that its evidence names ("port") are one as well.
[[nodiscard]] bool is_at_same_address(const Finding& a, const Finding& b);

}  // namespace autopilot::incidents
