// SPDX-License-Identifier: Apache-2.0
#include "controller/controller.hpp"

#include <CLI/CLI.hpp>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "cli/cli.hpp"
#include "cli/cluster.hpp"
#include "cli/cluster_files.hpp"
#include "cli/daemon.hpp"
#include "cli/output/terminal.hpp"
#include "cli/settings.hpp"
#include "cli/verbs.hpp"
#include "config/controller_config.hpp"
#include "config/forms.hpp"
#include "host/clock/system_clock.hpp"
#include "host/process/own_process.hpp"
#include "runtime/workers.hpp"
#include "telemetry/log.hpp"

namespace autopilot::cli {
namespace {

// For blocking reads of credentials: files and plugins.
constexpr runtime::Lanes::Limits kLanes{.lanes = 1, .max_stuck = 1, .max_queued = 4};

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
    telemetry::log_warning(problem);
  auto cluster = open_cluster(config->kubernetes.kubeconfig, config->kubernetes.name_space, environment());
  if (!cluster) return report(cluster.error());
  // The reader of the log may exit first.
  std::signal(SIGPIPE, SIG_IGN);
  const host::SystemClock clock;
  runtime::Lanes lanes(kLanes);
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
