// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/operations/gpu_probe_operations.hpp"

#include <string>
#include <utility>

#include "diagnostics/child/gpu_probe_words.hpp"
#include "host/helpers/helper_client.hpp"

namespace autopilot::diagnostics {

std::vector<OperationKind> gpu_probe_operations(const config::GpuProbe& settings,
                                                const SimulatedMachine& simulated) {
  std::vector<OperationKind> kinds;
  for (const GpuProbeTest& test : gpu_probe_tests()) {
    std::vector<std::string> arguments{std::string(test.check), "--seconds",
                                       to_string(Value{to_seconds(settings.time)})};
    const auto add = [&arguments](const char* name, std::string value) {
      arguments.emplace_back(name);
      arguments.push_back(std::move(value));
    };
    if (test.takes_memory_share) add("--memory-share", to_string(Value{settings.memory_percent / 100.0}));
    if (settings.kernels != config::GpuProbe{}.kernels) add("--kernels", settings.kernels);
    if (!simulated.tree.empty()) {
      add("--tree", simulated.tree);
      add("--library", simulated.library);
      add("--cuda-library", simulated.cuda_library);
    }
    kinds.push_back({std::string(test.check), std::string(test.title), settings.deadline,
                     host::helper_command("gpu_probe", arguments, {}), true});
  }
  return kinds;
}

}  // namespace autopilot::diagnostics
