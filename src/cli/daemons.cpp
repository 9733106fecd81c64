// SPDX-License-Identifier: Apache-2.0
// Verbs that run until SIGTERM: agent and controller.
#include "cli/daemons.hpp"

#include <CLI/CLI.hpp>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <sys/stat.h>
#include <utility>

#include "agent/agent.hpp"
#include "cli/cli.hpp"
#include "cli/cluster_access.hpp"
#include "cli/output/print.hpp"
#include "cli/settings.hpp"
#include "cli/verbs.hpp"
#include "config/controller_config.hpp"
#include "config/forms.hpp"
#include "controller/controller.hpp"
#include "host/clock/system_clock.hpp"
#include "host/process/own_process.hpp"
#include "logging/log.hpp"
#include "runtime/workers.hpp"

namespace autopilot::cli {
namespace {

logging::LogLevel level_of(const std::string& word) {
  if (word == "debug") return logging::LogLevel::debug;
  if (word == "warning") return logging::LogLevel::warning;
  if (word == "error") return logging::LogLevel::error;
  return logging::LogLevel::info;
}

// Values as in the settings `log_level` and `log_format`.
void set_log(const std::string& level, const std::string& format) {
  logging::set_log(level_of(level), format == "json" ? logging::LogFormat::json : logging::LogFormat::text);
}

// Changes when the file is replaced or rewritten; empty: no such file.
std::string version_of_file(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return "";
  return std::to_string(status.st_ino) + "." + std::to_string(status.st_size) + "." +
         std::to_string(status.st_mtim.tv_sec) + "." + std::to_string(status.st_mtim.tv_nsec);
}

// Problem with a listen address given as a flag; empty: valid.
std::string listen_problem(const std::string& text) {
  if (config::is_listen_address(text)) return "";
  return "expected an address and a port such as 127.0.0.1:3333 or [::1]:3333, or \"\", not '" + text + "'";
}

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
    logging::log_warning(problem);
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
  verb->add_flag("--allow-simulated", options->allow_simulated,
                 "Let a simulated machine write to a cluster, and act on jobs of Slurm");
  verb->footer(
      "Examples:\n  autopilot agent\n  autopilot agent --listen 127.0.0.1:3334\n"
      "  autopilot agent --simulate hgx-h100-8\n"
      "The agent reloads the configuration on SIGHUP and when the file changes. It\n"
      "exits on SIGTERM.");
  verb->callback([options, &exit_code] { exit_code = run_agent_verb(*options); });
}

namespace {

// For blocking reads of credentials: files and plugins.
constexpr runtime::Workers::Limits kLanes{.threads = 1, .max_stuck = 1, .max_queued = 4};

struct Options {
  std::optional<std::string> listen;
  std::optional<std::string> metrics;
  std::optional<std::string> name_space;
  std::string config_file;
};

std::string address_problem(const std::string& text) {
  return text.empty() ? "expected an address and a port such as :9443" : listen_problem(text);
}

std::string name_space_problem(const std::string& text) {
  if (!text.empty() && config::is_name_space(text)) return "";
  return "expected the name of a namespace, not '" + text + "'";
}

// Flags override the file.
Result<config::ControllerConfig> load(const Options& options) {
  config::ControllerConfig config;
  if (!options.config_file.empty()) {
    const std::string text = TRY(read_settings_text(options.config_file, "configuration"));
    config = TRY(config::parse_controller(text, options.config_file, std::move(config)));
  }
  if (options.listen) config.listen = *options.listen;
  if (options.metrics) config.metrics = *options.metrics;
  if (options.name_space) config.kubernetes.name_space = *options.name_space;
  return config;
}

int run_controller_verb(const Options& options) {
  host::keep_allocator_small();
  auto config = load(options);
  if (!config) return report(config.error());
  set_log(config->log_level, config->log_format);
  if (const auto problem = open_key_problem(config->certificates.key, environment()); !problem.empty())
    logging::log_warning(problem);
  auto cluster = open_cluster(config->kubernetes.kubeconfig, config->kubernetes.name_space, environment());
  if (!cluster) return report(cluster.error());
  // The reader of the log may exit first.
  std::signal(SIGPIPE, SIG_IGN);
  static const host::SystemClock clock;  // also for a thread that hangs on a disk
  runtime::Workers lanes(kLanes);
  controller::ControllerOptions wanted{
      .config = std::move(*config),
      .reload = [options] { return load(options); },
      .configuration_version = {},
      .policy_file = {.read = [](const std::string& path) { return read_settings_text(path, "policy"); },
                      .version = version_of_file},
      .cluster = std::move(*cluster),
      .run_blocking =
          [&lanes](std::function<void()> task) { static_cast<void>(lanes.submit(std::move(task))); },
      .clock = clock};
  if (!options.config_file.empty())
    wanted.configuration_version = [file = options.config_file] { return version_of_file(file); };
  // Each agent keeps a connection for records of jobs.
  host::raise_open_files();
  const auto ended = controller::run_controller(std::move(wanted));
  return ended ? kExitHealthy : report(ended.error());
}

}  // namespace

void add_controller(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  auto* verb = app.add_subcommand("controller",
                                  "Run the cluster controller: webhooks, agent certificates, remediation");
  verb->add_option("--listen", options->listen, "TLS address of webhooks and API (:9443)")
      ->type_name("ADDR:PORT")
      ->check(address_problem);
  verb->add_option("--metrics", options->metrics, "Address of health probes and metrics (:8082)")
      ->type_name("ADDR:PORT")
      ->check(address_problem);
  verb->add_option("--namespace", options->name_space, "Namespace of Autopilot")
      ->type_name("NAME")
      ->check(name_space_problem);
  verb->add_option("--config", options->config_file, "Configuration file")->type_name("FILE");
  verb->footer(
      "Examples:\n  autopilot controller --config /etc/autopilot/controller.yaml\n"
      "  autopilot controller --listen 127.0.0.1:9443 --metrics 127.0.0.1:8082\n"
      "Runs in a pod of the cluster, or elsewhere if `kubernetes.kubeconfig` is set.\n"
      "Of several replicas one is the leader. The controller reloads the configuration\n"
      "on SIGHUP and when the file changes. It exits on SIGTERM.");
  verb->callback([options, &exit_code] { exit_code = run_controller_verb(*options); });
}

}  // namespace autopilot::cli
