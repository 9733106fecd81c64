// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "probes/gpu/driver/session.hpp"

namespace autopilot::probes::gpu {

// Puts the heaviest load on the GPU for which it has kernels: matrix products of at most 50 ms each, while
// `more` returns true; it is called between two products.
[[nodiscard]] Status multiply_while(Session& session, const std::function<bool()>& more);

}  // namespace autopilot::probes::gpu
