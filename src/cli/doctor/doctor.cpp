// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <unistd.h>
#include <utility>
#include <vector>

#include "cli/cli.hpp"
#include "cli/doctor/rows.hpp"
#include "cli/machine.hpp"
#include "cli/output/print.hpp"
#include "cli/settings.hpp"
#include "cli/verbs.hpp"
#include "logging/build_info.hpp"
#include "runtime/one_shot.hpp"

namespace autopilot::cli {
namespace {

struct DoctorOptions {
  MachineChoice machine;
  std::string socket;
  OutputFormat format = OutputFormat::table;
};

bool lacks_right(const CheckInfo& info, const host::OwnRights& rights) {
  return std::ranges::any_of(info.rights, [&rights](const std::string& right) {
    const auto bit = host::capability_named(right);
    return !bit || (rights.effective & *bit) == 0;
  });
}

// Runs the checks that lack a permission: those of hardware that the machine does not have need none.
CheckResults results_without_rights(const agent::Machine& machine, const MachineChecks& checks,
                                    const host::OwnRights& rights) {
  std::vector<checks::Check> limited;
  std::ranges::copy_if(checks.checks, std::back_inserter(limited),
                       [&rights](const checks::Check& check) { return lacks_right(check.info, rights); });
  if (limited.empty()) return {};
  runtime::OneShot one_shot;
  one_shot.options.node = machine.node;
  one_shot.options.boot_id = machine.boot_id;
  one_shot.options.has_accelerator = machine.has_accelerator;
  one_shot.options.workers.threads = static_cast<int>(limited.size());
  one_shot.window = Duration{0};
  return runtime::look_once(machine.host, *checks.facts, limited, std::move(one_shot))->results;
}

// Settings with a problem do not stop the diagnosis: their row states it.
config::Config settings_of_doctor() {
  return load_settings("").value_or(config::default_config(environment(), ::geteuid() == 0));
}

Result<Diagnosis> examine(const DoctorOptions& options) {
  const config::Config settings = settings_of_doctor();
  MachineChecks checks = checks_of(options.machine, settings).value_or(MachineChecks{});
  if (checks.checks.empty()) checks = TRY(checks_of(options.machine, config::Config{}));
  const agent::Machine machine = TRY(open_machine(options.machine, settings, Timeline::at_end, {}));
  const host::Files own_files;
  const auto rights = TRY(host::read_own_rights(own_files));
  std::vector<CheckInfo> infos;
  for (const auto& check : checks.checks)
    infos.push_back(check.info);
  const Examined examined{options.machine,
                          settings,
                          machine,
                          rights,
                          host::read_own_namespaces(own_files),
                          uses_of_rights(infos, results_without_rights(machine, checks, rights))};
  Diagnosis diagnosis{machine.node,
                      std::string(logging::build_info().version),
                      machine.simulated && !is_recording(options.machine),
                      {}};
  add_own_rows(examined, diagnosis.rows);
  add_machine_rows(examined, diagnosis.rows);
  add_right_rows(examined, diagnosis.rows);
  add_driver_rows(examined, diagnosis.rows);
  add_agent_rows(examined, options.socket, diagnosis.rows);
  return diagnosis;
}

int exit_code_of(RowState state) {
  if (state == RowState::problem) return kExitFailed;
  return state == RowState::limited ? kExitDegraded : kExitHealthy;
}

int show_diagnosis(const DoctorOptions& options) {
  const auto diagnosis = examine(options);
  if (!diagnosis) return report(diagnosis.error());
  if (options.format == OutputFormat::table)
    std::cout << render_diagnosis(*diagnosis, terminal_style());
  else
    print_json(diagnosis_json(*diagnosis), options.format);
  return exit_code_of(state_of(*diagnosis));
}

}  // namespace

void add_doctor(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<DoctorOptions>();
  auto* verb = app.add_subcommand("doctor", "Show what Autopilot can check here, and what more would add");
  add_machine_options(*verb, options->machine);
  add_socket_option(*verb, options->socket);
  add_format_option(*verb, options->format);
  verb->footer(
      "Permissions, kernel log, drivers, agent, service, kubelet, configuration, clock\n"
      "and disk: each row states what is missing, what it would add, and what gives it.\n"
      "Needs no agent, no root and no GPU. For the health of the machine: autopilot check\n"
      "Examples:\n  autopilot doctor\n  sudo autopilot doctor\n"
      "  autopilot doctor -o json | jq '.rows[] | select(.state != \"ok\")'");
  verb->callback([options, &exit_code] { exit_code = show_diagnosis(*options); });
}

}  // namespace autopilot::cli
