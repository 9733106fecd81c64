// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/result.hpp"

namespace autopilot::probes::gpu {

struct KernelText {
  std::string level;  // "sm_80"
  const std::string* text = nullptr;
};

// The text of the highest feature level that a GPU of this compute capability ("8.6" is 86) takes.
// Errc::unsupported: it is older than all of them.
[[nodiscard]] Result<KernelText> kernel_text_for(int capability);

}  // namespace autopilot::probes::gpu
