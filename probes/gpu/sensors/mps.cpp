// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/sensors/mps.hpp"

#include <algorithm>
#include <fstream>

namespace autopilot::probes::gpu {
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

}  // namespace autopilot::probes::gpu
