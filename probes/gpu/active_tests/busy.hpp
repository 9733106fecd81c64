// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "probes/gpu/driver/session.hpp"

namespace autopilot::probes::gpu {

// The heaviest load that the GPU has kernels for: one matrix product after the other, each of at most 50 ms,
// as long as `more`, asked between two, says so.
[[nodiscard]] Status multiply_while(Session& session, const std::function<bool()>& more);

}  // namespace autopilot::probes::gpu
