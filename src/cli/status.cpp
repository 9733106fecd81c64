// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <signal.h>

#include "api/v1.hpp"
#include "api/yaml.hpp"
#include "cli/agent_client.hpp"
#include "cli/cli.hpp"
#include "cli/interrupt.hpp"
#include "cli/output/exit_code.hpp"
#include "cli/output/format.hpp"
#include "cli/output/terminal.hpp"
#include "cli/settings.hpp"
#include "cli/verbs.hpp"

namespace autopilot::cli {
namespace {

struct StatusOptions {
  std::string socket;
  std::string probe;
  bool watch = false;
  OutputFormat format = OutputFormat::table;
};

// Independent of the machine's health: an unhealthy machine must not get its agent restarted.
int probe(const AgentClient& agent, const std::string& what) {
  if (what == "live" ? agent.answers() : agent.is_ready()) return kExitHealthy;
  std::cerr << "autopilot: " << to_string(agent.target())
            << (agent.answers() ? " is not ready" : " does not answer") << "\n";
  return kExitUnknown;
}

int show_once(const AgentClient& agent, const StatusOptions& options) {
  const auto node = agent.node();
  if (!node) return report(node.error());
  print_node(*node, options.format);
  return exit_code_of(*node, false);
}

// Refreshes every second until interrupted. Shows the error while the agent does not answer.
int watch(const AgentClient& agent) {
  Interrupt interrupt;
  LiveScreen screen;
  int exit_code = kExitHealthy;
  while (!interrupt.requested()) {
    const auto node = agent.node();
    if (node) {
      exit_code = exit_code_of(*node, false);
      screen.show(render_node(*node, terminal_style()) + "\nPress Ctrl-C to exit.\n");
    } else {
      exit_code = kExitInternal;
      screen.show("autopilot: " + printable(node.error().what) + "\n");
    }
    interrupt.wait(std::chrono::seconds{1});
  }
  return exit_code;
}

}  // namespace

void add_status(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<StatusOptions>();
  auto* verb = app.add_subcommand("status", "Show the health of this machine, as reported by its agent");
  verb->add_flag("-w,--watch", options->watch, "Refresh the table every second until Ctrl-C");
  verb->add_option("--probe", options->probe,
                   "Exit with 0 if the agent answers (live), or every check has run once (ready); else 3")
      ->type_name("WHAT")
      ->check(CLI::IsMember({"live", "ready"}));
  add_format_option(*verb, options->format);
  add_socket_option(*verb, options->socket);
  verb->footer(
      "Examples:\n  autopilot status\n  autopilot status --watch\n  autopilot status -o json | jq .verdict");
  verb->callback([options, &exit_code] {
    const auto target = agent_target(options->socket);
    if (!target) {
      exit_code = report(target.error());
      return;
    }
    const AgentClient agent(*target);
    if (!options->probe.empty()) {
      exit_code = probe(agent, options->probe);
      return;
    }
    if (options->watch && !stdout_is_terminal()) {
      std::cerr << "autopilot: --watch needs a terminal; to print the table once, leave it out\n";
      exit_code = kExitUsage;
      return;
    }
    exit_code = options->watch ? watch(agent) : show_once(agent, *options);
  });
}

}  // namespace autopilot::cli
