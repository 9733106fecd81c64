// SPDX-License-Identifier: Apache-2.0
#include "cli/machine.hpp"

#include <map>
#include <memory>

#include "catalog/log_rules.hpp"
#include "checks/custom/custom_checks.hpp"
#include "cli/settings.hpp"
#include "host/process/child_runner.hpp"
#include "host/scripts/confined_program.hpp"
#include "host/scripts/script_answer.hpp"
#include "logging/log.hpp"

namespace autopilot::cli {

namespace {

constexpr std::size_t kMaxOutput = std::size_t{64} << 10;
// The deadline of the check covers the whole run; the script gets the rest after the time to end it.
constexpr Duration kScriptGrace = std::chrono::milliseconds{200};
constexpr Duration kScriptPatience = std::chrono::milliseconds{100};

checks::Check check_of(const std::string& name, const config::ScriptConfig& script,
                       const std::shared_ptr<host::ChildRunner>& runner) {
  const host::ConfinedProgram program{script.path, script.arguments, script.user, script.network};
  const auto run = [program, runner](MonoTime deadline) -> Result<ScriptAnswer> {
    host::RunLimits limits;
    limits.output_bytes = kMaxOutput;
    limits.grace = kScriptGrace;
    limits.patience = kScriptPatience;
    const auto command = TRY(host::confined_command(program));
    const auto ended = TRY(runner->run(command, deadline - kScriptGrace - kScriptPatience, limits));
    return host::read_script_answer(ended);
  };
  return checks::script_check({name, script.path, script.period, script.deadline}, run);
}

}  // namespace

Result<std::vector<catalog::LogRule>> read_log_rules(const std::vector<std::string>& files) {
  std::map<std::string, std::string> texts;
  for (const std::string& file : files)
    texts[file] = TRY(read_settings_text(file, "log rules"));
  return catalog::parse_operator_rules(texts, catalog::builtin());
}

// Log rules apply to the log of a machine tree as to the log of this machine.
Result<MachineChecks> checks_of(const MachineChoice& choice, const config::Config& config) {
  MachineChecks all;
  const auto builtin = checks::builtin_checks();
  all.checks.assign(builtin.begin(), builtin.end());
  if (config.log_rules.empty()) {
    all.facts = std::shared_ptr<const catalog::Catalog>(std::shared_ptr<void>(), &catalog::builtin());
  } else {
    const auto rules = TRY(read_log_rules(config.log_rules));
    all.facts = std::make_shared<const catalog::Catalog>(catalog::with_log_rules(catalog::builtin(), rules));
    all.operator_rules = std::make_shared<const checks::OperatorRules>(rules);
    all.checks.push_back(checks::log_rules_check(all.operator_rules));
  }
  if (!choice.is_this_machine()) {
    if (!config.scripts.empty())
      logging::log_warning(
          "scripts of the configuration are skipped: they would check this machine instead of the chosen "
          "one");
    return all;
  }
  const auto runner = std::make_shared<host::ChildRunner>();
  for (const auto& [name, script] : config.scripts)
    all.checks.push_back(check_of(name, script, runner));
  return all;
}

}  // namespace autopilot::cli
