// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace autopilot::probes::gpu {

// The kernels of one feature level.
struct KernelText {
  std::string level;  // "sm_80"
  const std::string* text = nullptr;

  // Levels differ in the features of their GPUs.
  [[nodiscard]] bool has(std::string_view kernel) const;
};

// From the lowest to the highest.
[[nodiscard]] std::vector<std::string> kernel_levels();

// The texts that a GPU of this compute capability ("8.6" is 86) supports, the best first: levels up to its
// own, and up to `highest` if that is set. A level with an "a" needs exactly its capability.
// Errc::unsupported: the GPU is older than all of them.
[[nodiscard]] Result<std::vector<KernelText>> kernel_texts_for(int capability, std::string_view highest = {});

}  // namespace autopilot::probes::gpu
