// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/operations/nccl_operation.hpp"

#include <string>
#include <vector>

#include "host/helpers/helper_client.hpp"

namespace autopilot::diagnostics {

OperationKind nccl_operation(const config::Nccl& settings, const SimulatedMachine& simulated) {
  std::vector<std::string> arguments;
  const auto add = [&arguments](const char* name, const std::string& value) {
    arguments.emplace_back(name);
    arguments.push_back(value);
  };
  for (const std::string& word : settings.command)
    add("--run", word);
  if (!simulated.tree.empty()) {
    add("--tree", simulated.tree);
    add("--library", simulated.library);
  }
  return {"gpu.nccl_allreduce", "All-reduce of idle GPUs by NCCL", settings.deadline,
          host::helper_command("nccl_allreduce", arguments, {}), true};
}

}  // namespace autopilot::diagnostics
