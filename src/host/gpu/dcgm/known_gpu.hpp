// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "core/subject.hpp"
#include "host/gpu/dcgm/diagnosis.hpp"

namespace autopilot::host {

// The one that DCGM means: by its serial, else by its number, unless that one has another serial. Null: none.
// Pure.
[[nodiscard]] const Subject* gpu_of(const DcgmGpu& gpu, std::span<const Subject> gpus);

}  // namespace autopilot::host
