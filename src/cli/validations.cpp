// SPDX-License-Identifier: Apache-2.0
#include "api/validations.hpp"

#include <CLI/CLI.hpp>
#include <iostream>
#include <map>
#include <memory>
#include <string>

#include "cli/agent_client.hpp"
#include "cli/cli.hpp"
#include "cli/output/print.hpp"
#include "cli/output/validation_tables.hpp"
#include "cli/settings.hpp"
#include "cli/verbs.hpp"
#include "host/clock/system_clock.hpp"

namespace autopilot::cli {
namespace {

struct ValidationsOptions {
  std::string job;
  std::string socket;
  OutputFormat format = OutputFormat::table;
};

int show_validations(const ValidationsOptions& options) {
  const auto target = agent_target(options.socket);
  if (!target) return report(target.error());
  std::map<std::string, std::string, std::less<>> query;
  if (!options.job.empty()) query.emplace("job", options.job);
  const auto body = AgentClient(*target).get(api::kValidationsPath, query);
  if (!body) return report(body.error());
  const auto list = api::parse_validations(*body);
  if (!list) return report(list.error());
  if (options.format != OutputFormat::table)
    print_json(*body, options.format);
  else
    std::cout << render_validations(*list, host::SystemClock{}.now().wall, terminal_style());
  return exit_code_of(health_of(*list));
}

}  // namespace

void add_validations(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ValidationsOptions>();
  auto* verb = app.add_subcommand("validations", "Show what this machine checked when its jobs ended");
  verb->add_option("JOB", options->job, "Only after this job: key or name, from: autopilot jobs");
  add_format_option(*verb, options->format);
  add_socket_option(*verb, options->socket);
  verb->footer(
      "The newest first, at most 64 since the agent started (docs/validation.md).\n\n"
      "Examples:\n  autopilot validations\n  autopilot validations ml/llama-7f3a\n"
      "  autopilot validations -o json | jq -r '.validations[] | select(.verdict == \"failed\") | .summary'");
  verb->callback([options, &exit_code] { exit_code = show_validations(*options); });
}

}  // namespace autopilot::cli
