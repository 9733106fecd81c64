// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/driver/kernel_text.hpp"

#include <map>
#include <string_view>

#include "core/parse.hpp"

namespace autopilot::probes::gpu {

// Made by cmake/Embed.cmake: "sm_80.ptx" and its text.
const std::map<std::string, std::string>& embedded_kernels();

Result<KernelText> kernel_text_for(int capability) {
  constexpr std::string_view kHead = "sm_";
  constexpr std::string_view kTail = ".ptx";
  KernelText best;
  int highest = 0;
  for (const auto& [name, text] : embedded_kernels()) {
    const std::string level = name.substr(0, name.size() - kTail.size());
    const auto number = parse_number<int>(std::string_view(level).substr(kHead.size()));
    AUTOPILOT_ASSERT(number);
    if (*number > capability || *number < highest) continue;
    highest = *number;
    best = {.level = level, .text = &text};
  }
  if (best.text == nullptr)
    return fail(Errc::unsupported, "compute capability " + std::to_string(capability / 10) + "." +
                                       std::to_string(capability % 10) + " is older than our kernels (7.0)");
  return best;
}

}  // namespace autopilot::probes::gpu
