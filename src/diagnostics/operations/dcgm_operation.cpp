// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/operations/dcgm_operation.hpp"

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

}  // namespace autopilot::diagnostics
