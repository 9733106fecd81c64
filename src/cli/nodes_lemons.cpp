// SPDX-License-Identifier: Apache-2.0
#include "cli/nodes_lemons.hpp"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "cli/cli.hpp"
#include "cli/output/lemon_tables.hpp"
#include "cli/output/print.hpp"
#include "cli/report_history.hpp"
#include "host/clock/system_clock.hpp"
#include "learning/report/lemon_list.hpp"

namespace autopilot::cli {
namespace {

// Jobs make nodes known; validations are read from 30 days before that on, longer than a re-check counts.
constexpr auto kJobsOfLemons = std::chrono::days(90);

struct LemonOptions {
  std::vector<std::string> histories;
  bool is_all = false;
  OutputFormat format = OutputFormat::table;
};

int show_lemons(const LemonOptions& options) {
  const WallTime now = host::SystemClock{}.now().wall;
  const auto records = read_report_records(options.histories, now - kJobsOfLemons, now);
  if (!records) return report(records.error());
  auto list = learning::lemon_list(*records, now);
  if (!list) return report(list.error());
  if (!options.is_all)
    std::erase_if(list->rows, [](const learning::LemonRow& row) { return !row.is_restricted(); });
  if (options.format == OutputFormat::table)
    std::cout << render_lemons(*list, now, terminal_style());
  else
    print_json(lemons_json(*list, now), options.format);
  return kExitHealthy;
}

}  // namespace

void add_nodes_lemons(CLI::App& nodes, int& exit_code) {
  auto options = std::make_shared<LemonOptions>();
  auto* verb = nodes.add_subcommand("lemons", "Show lemons, nodes on probation and re-checks that are due");
  verb->add_flag("--all", options->is_all, "Also nodes with a fault in the last 90 days only");
  add_format_option(*verb, options->format);
  add_histories_option(*verb, options->histories);
  verb->footer(
      "The worst first. A lemon has more than 4 times the faults of all nodes together\n"
      "with a probability above 90 %, and its faults hit two jobs. At most 1.5 % of the\n"
      "nodes should get no job at once. Nothing here changes a node (docs/reports.md).\n\n"
      "Examples:\n"
      "  sudo autopilot nodes lemons\n"
      "  autopilot nodes lemons --history gpu-1.db gpu-2.db\n"
      "  autopilot nodes lemons -o json | jq -r '.nodes[] | select(.isLemon) | .node'");
  verb->callback([options, &exit_code] { exit_code = show_lemons(*options); });
}

}  // namespace autopilot::cli
