// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/sensors/users.hpp"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <vector>

namespace autopilot::probes::gpu {
namespace {

// The remedy comes before the cause, which can be long.
constexpr const char* kUnknownUsers =
    "can be in use by an unknown process; a container needs the driver capability `utility` to list "
    "processes: ";
constexpr const char* kRemedy = "; use --beside-others to test it nevertheless";

}  // namespace

Status check_is_free(const std::optional<std::vector<unsigned>>& processes, const SensorValues& values) {
  if (processes && !processes->empty()) {
    std::string pids;
    for (const unsigned pid : *processes)
      pids += " " + std::to_string(pid);
    return fail(Errc::conflict, "is in use by" + pids + kRemedy);
  }
  if (values.power_w && values.power_limit_w && *values.power_w >= kMostPowerBefore * *values.power_limit_w)
    return fail(Errc::conflict, "draws " + std::to_string(static_cast<int>(*values.power_w)) + " of its " +
                                    std::to_string(static_cast<int>(*values.power_limit_w)) +
                                    " W before anything is tested" + kRemedy);
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
  return fail(Errc::conflict, std::string(kUnknownUsers) + why);
}

namespace {

// "nvidia-cuda-mps-server", truncated by the kernel to fifteen characters.
constexpr const char* kServer = "nvidia-cuda-mps";

}  // namespace

std::optional<unsigned> find_mps_server(std::span<const unsigned> processes, const std::string& proc) {
  const auto found = std::find_if(processes.begin(), processes.end(), [&proc](unsigned process) {
    std::ifstream file(proc + "/" + std::to_string(process) + "/comm");
    std::string name;
    std::getline(file, name);
    return name == kServer;
  });
  return found == processes.end() ? std::nullopt : std::optional(*found);
}

namespace {

tl::unexpected<Error> refuse(const std::string& why) {
  return fail(Errc::conflict, "can be in use by an unknown process: " + why);
}

}  // namespace

Status check_amd_use(const Result<host::KfdProcesses>& seen, const std::string& pci_address,
                     bool must_be_idle) {
  if (!seen) return must_be_idle ? Status(refuse(seen.error().what)) : Status();
  const auto found = seen->by_gpu.find(pci_address);
  if (found == seen->by_gpu.end())
    return must_be_idle ? Status(refuse("the kernel driver (KFD) does not list it")) : Status();
  if (must_be_idle && seen->divided.contains(pci_address))
    return fail(Errc::conflict, "is divided (compute partitions), and its parts can be in use");
  if (must_be_idle && found->second.empty() && seen->some_untold)
    return refuse("the kernel driver (KFD) does not list the GPUs of a process");
  std::vector<unsigned> pids;
  std::ranges::transform(found->second, std::back_inserter(pids),
                         [](std::int64_t pid) { return static_cast<unsigned>(pid); });
  return check_is_free(pids, {});
}

}  // namespace autopilot::probes::gpu
