// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/run/locality.hpp"

#include <fstream>
#include <sched.h>

#include "core/id_list.hpp"
#include "core/parse.hpp"

namespace autopilot::probes::gpu {
namespace {

std::optional<std::string> first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

bool run_only_on(const std::vector<int>& processors) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int processor : processors)
    if (processor < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(processor), &set);
  return CPU_COUNT(&set) > 0 && sched_setaffinity(0, sizeof set, &set) == 0;
}

}  // namespace

std::optional<int> stay_near(const std::string& pci_address, const std::string& sysfs) {
  const std::string device = sysfs + "/bus/pci/devices/" + pci_address;
  const auto node_text = first_line(device + "/numa_node");
  const auto list_text = first_line(device + "/local_cpulist");
  if (!node_text || !list_text) return std::nullopt;
  const auto node = parse_number<int>(*node_text);
  const auto processors = parse_id_list(*list_text);
  if (!node || *node < 0 || !processors || !run_only_on(*processors)) return std::nullopt;
  return node;
}

}  // namespace autopilot::probes::gpu
