// SPDX-License-Identifier: Apache-2.0
#include "agent/agent.hpp"

#include <CLI/CLI.hpp>
#include <csignal>
#include <memory>

#include "cli/agent_verb.hpp"
#include "cli/cli.hpp"
#include "cli/cluster.hpp"
#include "cli/cluster_files.hpp"
#include "cli/daemon.hpp"
#include "cli/machine_checks.hpp"
#include "cli/output/terminal.hpp"
#include "cli/settings.hpp"
#include "cli/verbs.hpp"
#include "telemetry/log.hpp"

namespace autopilot::cli {
namespace {

// Later sources override earlier ones: the file, the environment, the flags.
Result<config::Config> load(const AgentVerbOptions& options) {
  auto settings = TRY(load_settings(options.config_file, options.base));
  if (options.listen) settings.listen = *options.listen;
  return settings;
}

}  // namespace

int run_agent_verb(const AgentVerbOptions& options) {
  auto settings = load(options);
  if (!settings) return report(settings.error());
  for (const std::string& name : options.not_used)
    tell(name + " is accepted and has no effect: docs/ibm-autopilot.md");
  set_log(settings->log_level, settings->log_format);
  const auto variables = environment();
  const config::Config opened_with = *settings;
  if (const auto problem = open_key_problem(opened_with.tls.key, variables); !problem.empty())
    telemetry::log_warning(problem);
  agent::AgentOptions agent_options{
      .config = std::move(*settings),
      .reload = [options] { return load(options); },
      .configuration_version = [file = settings_file(options.config_file)] { return version_of_file(file); },
      .open_machine = [options, opened_with](const OnKernelNews& on_kernel_news) -> Result<agent::Machine> {
        auto known = TRY(checks_of(options.machine, opened_with));
        auto machine = TRY(open_machine(options.machine, opened_with, Timeline::live,
                                        {.tell = on_kernel_news, .operator_rules = known.operator_rules}));
        machine.checks = std::move(known.checks);
        machine.facts = std::move(known.facts);
        return machine;
      },
      .service_manager =
          agent::ServiceManager(variable(variables, "NOTIFY_SOCKET"), variable(variables, "WATCHDOG_USEC")),
      .read_file = read_cluster_file,
      .allow_simulated = options.allow_simulated,
  };
  if (opened_with.kubernetes.write_node) {
    const auto& settings_of_cluster = opened_with.kubernetes;
    auto cluster = open_cluster(settings_of_cluster.kubeconfig, settings_of_cluster.name_space, variables);
    if (!cluster)
      return report({cluster.error().code, "kubernetes.write_node is on: " + cluster.error().what});
    agent_options.cluster = std::move(*cluster);
  }
  // The reader of the log may exit first.
  std::signal(SIGPIPE, SIG_IGN);
  const auto ended = agent::run_agent(std::move(agent_options));
  return ended ? kExitHealthy : report(ended.error());
}

void add_agent(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<AgentVerbOptions>();
  auto* verb = app.add_subcommand("agent", "Monitor this machine and serve the API");
  verb->add_option("--listen", options->listen, "TCP address of the read-only API; empty: no TCP")
      ->type_name("ADDR:PORT")
      ->check(listen_problem);
  verb->add_option("--config", options->config_file, "Configuration file")->type_name("FILE");
  add_machine_options(*verb, options->machine);
  verb->add_flag("--allow-simulated", options->allow_simulated, "Let a simulated machine write to a cluster");
  verb->footer(
      "Examples:\n  autopilot agent\n  autopilot agent --listen 127.0.0.1:3334\n"
      "  autopilot agent --simulate hgx-h100-8\n"
      "The agent reloads the configuration on SIGHUP and when the file changes. It\n"
      "exits on SIGTERM.");
  verb->callback([options, &exit_code] { exit_code = run_agent_verb(*options); });
}

}  // namespace autopilot::cli
