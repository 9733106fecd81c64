// SPDX-License-Identifier: Apache-2.0

#include "diagnostics/operations/operation_kinds.hpp"

#include <string>
#include <utility>
#include <vector>

#include "diagnostics/child/gpu_probe_helper.hpp"
#include "host/helpers/helper_client.hpp"

namespace autopilot::diagnostics {

std::vector<host::DcgmExcuse> dcgm_excuses(const catalog::Catalog& facts) {
  std::vector<host::DcgmExcuse> excuses;
  for (const catalog::DcgmError& error : facts.dcgm_errors())
    if (!error.evicts) excuses.push_back({error.number, error.says});
  return excuses;
}

OperationKind dcgm_operation(const config::Dcgm& settings, const std::vector<std::string>& fatal,
                             const SimulatedMachine& simulated) {
  std::vector<std::string> arguments{"--level", std::to_string(settings.level)};
  const auto add = [&arguments](const char* name, const std::string& value) {
    arguments.emplace_back(name);
    arguments.push_back(value);
  };
  for (const std::string& test : fatal)
    add("--fatal", test);
  add("--excused", host::format_excuses(dcgm_excuses(catalog::builtin())));
  for (const std::string& word : settings.command)
    add("--run", word);
  if (!simulated.tree.empty()) {
    add("--tree", simulated.tree);
    add("--library", simulated.library);
  }
  return {"gpu.dcgm", "DCGM's diagnostic of idle GPUs, level " + std::to_string(settings.level),
          settings.deadline, host::helper_command("dcgm", arguments, {}), true};
}

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
