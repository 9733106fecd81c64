// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "catalog/catalog.hpp"
#include "cli/cli.hpp"
#include "cli/moment.hpp"
#include "cli/output/print.hpp"
#include "cli/output/why_page.hpp"
#include "cli/settings.hpp"
#include "cli/verbs.hpp"
#include "cli/why/gather.hpp"
#include "host/clock/system_clock.hpp"

namespace autopilot::cli {
namespace {

struct WhyOptions {
  WhyRequest request;
  OutputFormat format = OutputFormat::table;
};

int answer_why(const WhyOptions& options) {
  const WallTime now = host::SystemClock{}.now().wall;
  if (const auto since = parse_moment("--since", options.request.since, now, now); !since)
    return report_usage(since.error().what);
  const auto answer = gather(options.request);
  if (!answer) return report(answer.error());
  const auto& facts = catalog::builtin();
  if (options.format == OutputFormat::table)
    std::cout << recorded_line(options.request.machine) << render_why(*answer, facts, terminal_style());
  else
    print_json(why_json(*answer, facts), options.format);
  return answer->explanation.causes.empty() ? kExitNoCause : kExitHealthy;
}

}  // namespace

void add_why(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<WhyOptions>();
  auto* verb = app.add_subcommand("why", "Find out what ended or stops a program, or went wrong here");
  verb->add_option("PROGRAM", options->request.target,
                   "A pid, a Slurm job (4711), a container id, a pod (namespace/name, name or UID)\n"
                   "or the name of a program; missing: this machine")
      ->check([](const std::string& text) {
        return text.empty() ? std::string("is empty; leave it out to ask about this machine") : std::string();
      });
  verb->add_option("--since", options->request.since,
                   "Only newer causes: 2h, 2026-11-30, '2026-11-30 03:00', yesterday (UTC).\n"
                   "Default: 24h for the machine, everything for a program")
      ->type_name("WHEN");
  verb->add_option("--log", options->request.log_file,
                   "A log of the program: limits that it reached are causes")
      ->type_name("FILE");
  verb->add_flag("--no-agent", options->request.no_agent, "Run the checks now, even if an agent runs here");
  verb->add_option("--config", options->request.config_file, "Configuration file")->type_name("FILE");
  add_machine_options(*verb, options->request.machine);
  add_format_option(*verb, options->format);
  add_socket_option(*verb, options->request.socket);
  verb->footer(
      "Needs no agent and no root: it names each source that it could not read.\n"
      "Examples:\n  autopilot why\n  autopilot why --since yesterday\n  autopilot why 4711\n  autopilot why "
      "ml/train-0 --since 3h\n"
      "  autopilot why 4711 --log slurm-4711.out\n"
      "  autopilot why -o json | jq -r '.causes[].what'");
  verb->callback([options, &exit_code] { exit_code = answer_why(*options); });
}

}  // namespace autopilot::cli
