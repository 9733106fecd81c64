// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/sensors/amd_use.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "probes/gpu/sensors/guard.hpp"

namespace autopilot::probes::gpu {
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
