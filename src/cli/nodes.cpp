// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "api/history_records.hpp"
#include "api/json.hpp"
#include "cli/cli.hpp"
#include "cli/history_file.hpp"
#include "cli/nodes_lemons.hpp"
#include "cli/output/history_tables.hpp"
#include "cli/output/print.hpp"
#include "cli/verbs.hpp"
#include "host/clock/system_clock.hpp"

namespace autopilot::cli {
namespace {

struct NodeHistoryOptions {
  std::string history;
  std::string node;
  std::string since;
  std::size_t limit = 100;
  OutputFormat format = OutputFormat::table;
};

// The object of each record is its line.
std::string node_history_json(const std::string& node, const std::vector<learning::HistoryRecord>& records) {
  api::JsonWriter head;
  head.begin_object();
  head.word("node", node);
  head.begin_list("records");
  std::string json = head.take();
  json.pop_back();
  for (std::size_t i = 0; i < records.size(); ++i) {
    std::string line = api::to_history_line(records[i]);
    line.pop_back();
    json += (i == 0 ? "" : ",") + line;
  }
  return json + "]}\n";
}

int show_node_history(const NodeHistoryOptions& options) {
  const auto since = parse_since(options.since, host::SystemClock{}.now().wall);
  if (!since) return report_usage(since.error().what);
  const auto history = open_history(options.history);
  if (!history) return report(history.error());
  const auto records = (*history)->records({.node = options.node, .since = *since, .limit = options.limit});
  if (!records) return report(records.error());
  if (options.format != OutputFormat::table) {
    print_json(node_history_json(options.node, *records), options.format);
    return kExitHealthy;
  }
  if (records->empty())
    tell("no record of node " + options.node + " in " + (*history)->path(), "");
  else
    std::cout << render_history(*records, terminal_style());
  if (records->size() == options.limit)
    tell("Only the newest " + std::to_string(options.limit) + " records are shown; --limit shows more", "");
  return kExitHealthy;
}

void add_nodes_history(CLI::App& nodes, int& exit_code) {
  auto options = std::make_shared<NodeHistoryOptions>();
  auto* verb = nodes.add_subcommand("history", "Show faults, repairs, validations and jobs of a node");
  verb->add_option("NODE", options->node, "Name of the node")->required();
  verb->add_option("--since", options->since,
                   "Only records that ended later, or are not over: 30d, 12h or a time")
      ->type_name("WHEN");
  verb->add_option("--limit", options->limit, "Most records that are shown, the newest")
      ->type_name("N")
      ->check(CLI::Range(std::size_t{1}, store::History::kMaxRows))
      ->capture_default_str();
  add_format_option(*verb, options->format);
  add_history_option(*verb, options->history);
  verb->footer(
      "Newest first, one line for each record.\n\n"
      "Exit status: 0 shown, also if there is no record; 64 usage, 70 or 78 the history\n"
      "cannot be read.\n\n"
      "Examples:\n"
      "  autopilot nodes history gpu-017\n"
      "  autopilot nodes history gpu-017 --since 30d -o json | jq '.records[].type'");
  verb->callback([options, &exit_code] { exit_code = show_node_history(*options); });
}

}  // namespace

void add_nodes(CLI::App& app, int& exit_code) {
  auto* verb = app.add_subcommand("nodes", "Show what is remembered of nodes");
  verb->require_subcommand(1);
  add_nodes_history(*verb, exit_code);
  add_nodes_lemons(*verb, exit_code);
}

}  // namespace autopilot::cli
