// SPDX-License-Identifier: Apache-2.0
// What a stranger in place of the kubelet, or a lying helper, may send: parsed or refused, never a crash.
// What is accepted can be written and read again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/result.hpp"
#include "host/kubelet/pod_resources.hpp"
#include "tests/fuzz/targets.hpp"

namespace autopilot::pod_resources_fuzz {

int run(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  (void)host::parse_pod_resources_answer(bytes);
  (void)host::gpu_named_by("gpu.nvidia.com", bytes);
  const auto resources = host::parse_pod_resources(bytes);
  if (!resources) return 0;
  for (const host::HeldDevices& held : resources->held)
    for (const std::string& id : held.ids)
      (void)host::gpu_named_by(held.resource, id);
  const auto again = host::parse_pod_resources_answer(host::format_pod_resources(*resources));
  AUTOPILOT_ASSERT(again.has_value());
  AUTOPILOT_ASSERT(again->held.size() <= resources->held.size() && again->left_out >= resources->left_out);
  return 0;
}

}  // namespace autopilot::pod_resources_fuzz
