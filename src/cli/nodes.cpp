// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/history_records.hpp"
#include "api/json.hpp"
#include "cli/cli.hpp"
#include "cli/history_file.hpp"
#include "cli/history_selection.hpp"
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
  std::vector<std::string> types;
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

void print_selection(const HistorySelection& selection, const NodeHistoryOptions& options,
                     const std::string& path) {
  const std::string of_types = options.types.empty() ? "" : " of these types";
  if (options.format != OutputFormat::table)
    print_json(node_history_json(options.node, selection.shown()), options.format);
  else if (selection.shown().empty())
    tell("no record" + of_types + " of node " + options.node + " in " + path, "");
  else
    std::cout << render_history(selection.shown(), terminal_style()) << std::flush;
  if (const std::string left_out = selection.left_out(); !left_out.empty()) tell(left_out, "");
}

int show_node_history(const NodeHistoryOptions& options) {
  const auto since = parse_since(options.since, host::SystemClock{}.now().wall);
  if (!since) return report_usage(since.error().what);
  const auto history = open_history(options.history);
  if (!history) return report(history.error());
  HistorySelection selection(options.limit, !options.types.empty());
  const Status read = (*history)->visit({.types = options.types, .node = options.node, .since = *since},
                                        [&](learning::HistoryRecord record) {
                                          selection.offer(std::move(record));
                                          return true;
                                        });
  if (!read) return report(read.error());
  print_selection(selection, options, (*history)->place());
  return kExitHealthy;
}

void add_nodes_history(CLI::App& nodes, int& exit_code) {
  auto options = std::make_shared<NodeHistoryOptions>();
  auto* verb = nodes.add_subcommand("history", "Show faults, repairs, validations and jobs of a node");
  verb->add_option("NODE", options->node, "Name of the node")->required();
  verb->add_option("--since", options->since,
                   "Only records that ended later, or are not over: 30d, 12h or a time")
      ->type_name("WHEN");
  add_record_type_option(*verb, options->types);
  verb->add_option("--limit", options->limit, "Most records that are shown, the newest")
      ->type_name("N")
      ->check(CLI::Range(std::size_t{1}, store::History::kMaxRows))
      ->capture_default_str();
  add_format_option(*verb, options->format);
  add_history_option(*verb, options->history);
  verb->footer(
      "Newest first, one line for each record: all faults, repairs, labels and\n"
      "validations that did not pass; of jobs, passed validations, measurements and\n"
      "versions the newest 5 each. --type shows each record of the named types. The\n"
      "last line, on standard error, states what is left out.\n\n"
      "Examples:\n"
      "  autopilot nodes history gpu-017\n"
      "  autopilot nodes history gpu-017 --type fault --type job\n"
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
