// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/sensors/guard.hpp"

namespace autopilot::probes::gpu {
namespace {

constexpr const char* kCure = "; --beside-others tests it all the same";

}  // namespace

Status check_is_free(const std::optional<std::vector<unsigned>>& processes, const SensorValues& values) {
  if (processes && !processes->empty()) {
    std::string pids;
    for (const unsigned pid : *processes)
      pids += " " + std::to_string(pid);
    return fail(Errc::conflict, "is in use by" + pids + kCure);
  }
  if (values.power_w && values.power_limit_w && *values.power_w >= kMostPowerBefore * *values.power_limit_w)
    return fail(Errc::conflict, "draws " + std::to_string(static_cast<int>(*values.power_w)) + " of its " +
                                    std::to_string(static_cast<int>(*values.power_limit_w)) +
                                    " W before anything is tested" + kCure);
  return {};
}

}  // namespace autopilot::probes::gpu
