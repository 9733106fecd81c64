// SPDX-License-Identifier: Apache-2.0
#include "runtime/dcgm_operation.hpp"

#include "host/helpers/helper_client.hpp"

namespace autopilot::runtime {

OperationKind dcgm_operation(const config::Dcgm& settings, const std::vector<std::string>& fatal,
                             const host::SimulatedMachine& simulated) {
  std::vector<std::string> arguments{"--level", std::to_string(settings.level)};
  const auto add = [&arguments](const char* name, const std::string& value) {
    arguments.emplace_back(name);
    arguments.push_back(value);
  };
  for (const std::string& test : fatal)
    add("--fatal", test);
  for (const std::string& word : settings.command)
    add("--run", word);
  if (!simulated.tree.empty()) {
    add("--tree", simulated.tree);
    add("--library", simulated.library);
  }
  return {"gpu.dcgm", "DCGM's diagnostic of idle GPUs, level " + std::to_string(settings.level),
          settings.deadline, host::helper_command("dcgm", arguments, {}), true};
}

}  // namespace autopilot::runtime
