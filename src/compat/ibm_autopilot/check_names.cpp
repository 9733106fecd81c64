// SPDX-License-Identifier: Apache-2.0
#include "compat/ibm_autopilot/check_names.hpp"

#include <algorithm>

#include "compat/ibm_autopilot/said.hpp"
#include "core/parse.hpp"
#include "core/value.hpp"

namespace autopilot::compat::ibm_autopilot {
namespace {

constexpr std::string_view kPcieBandwidth = "pciebw";

}  // namespace

const std::vector<CheckName>& check_names() {
  static const std::vector<CheckName> names{
      {kPcieBandwidth, "gpu.pcie_bandwidth", "Requesting pcie test with bw: ", true},
      {"remapped", "gpu.row_remap", "Requesting Remapped Rows check on all GPUs\n"},
      {"dcgm", "gpu.diagnosis", "DCGM test", true, "gpu.dcgm"},
      {"ping", "network.ping", "Ping test", true},
      {"gpupower", "gpu.throttle", "GPU Power Measurement test"},
      {"gpumem", "gpu.compute", "GPU Memory DGEMM+DAXPY test", true},
      {"pvc", "storage.pvc", "PVC create-delete test\n", true},
      {kNetworkTest, "network.bandwidth", "", true},
  };
  return names;
}

std::string preamble_of(const CheckName& check, double pcie_bandwidth_limit) {
  std::string preamble(check.preamble);
  if (check.name == kPcieBandwidth) preamble += to_string(Value{pcie_bandwidth_limit}) + "\n";
  return preamble;
}

std::string invasive_text(std::string_view prefix, int level, std::string_view why_not) {
  std::string text = "Launching invasive health checks. Their results are in";
  if (!why_not.empty()) {
    text = "Not launching invasive health checks: ";
    text.append(on_one_line(to_lower(why_not))).append(". Results of earlier ones are in");
  }
  text.append(" the labels ").append(prefix).append("/gpuhealth and ").append(prefix);
  return text + "/dcgm.level." + std::to_string(level) + " of the node.\n";
}

const CheckName* find_check(std::string_view name) {
  const auto found = std::ranges::find(check_names(), name, &CheckName::name);
  return found == check_names().end() ? nullptr : &*found;
}

std::vector<std::string> named_checks(std::string_view list, const std::vector<std::string>& periodic) {
  if (list.find(kAll) != std::string_view::npos) return periodic;
  std::vector<std::string> names;
  for (const std::string_view name : split(list, ','))
    names.emplace_back(name);
  return names;
}

}  // namespace autopilot::compat::ibm_autopilot
