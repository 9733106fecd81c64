// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/sensors/guard.hpp"

namespace autopilot::probes::gpu {
namespace {

// The remedy comes before the cause, which can be long.
constexpr const char* kNobodyTells =
    "can be in use by an unknown process; a container needs the driver capability `utility` to list "
    "processes: ";
constexpr const char* kCure = "; use --beside-others to test it nevertheless";

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

Status check_is_idle(const std::optional<std::vector<unsigned>>& processes, const SensorValues& values,
                     std::optional<bool> is_divided) {
  if (is_divided.value_or(false))
    return fail(Errc::conflict, "is divided (MIG), and its parts can be in use");
  if (!processes) return refuse_unknown_use("NVML does not list its processes");
  return check_is_free(processes, values);
}

tl::unexpected<Error> refuse_unknown_use(const std::string& why) {
  return fail(Errc::conflict, std::string(kNobodyTells) + why);
}

}  // namespace autopilot::probes::gpu
