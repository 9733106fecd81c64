// SPDX-License-Identifier: Apache-2.0
// The verbs that run checks: check and snapshot.
#include "checks/check.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "api/v1.hpp"
#include "catalog/catalog.hpp"
#include "cli/agent_client.hpp"
#include "cli/cli.hpp"
#include "cli/machine.hpp"
#include "cli/one_run.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/print.hpp"
#include "cli/output/table.hpp"
#include "cli/settings.hpp"
#include "cli/verbs.hpp"
#include "core/snapshot.hpp"
#include "core/text.hpp"
#include "incidents/verdict.hpp"

namespace autopilot::cli {
namespace {

struct SnapshotOptions {
  MachineChoice machine;
  OutputFormat format = OutputFormat::table;
};

std::string value_of(const Observation& observation) {
  if (!observation.value) return "(" + observation.missing + ")";
  return to_string(*observation.value) + (observation.unit.empty() ? "" : " " + observation.unit);
}

void print_readings(const NodeSnapshot& node) {
  std::cout << printable(node.node) << (node.simulated ? "  SIMULATED" : "") << "  " << format_time(node.time)
            << "  boot " << printable(node.boot_id) << "\n";
  for (const CheckResult& result : node.results) {
    std::cout << "\n" << result.check;
    for (const auto& witness : result.witnesses)
      std::cout << (&witness == &result.witnesses.front() ? "  source: " : ", ") << printable(witness);
    std::cout << "\n";
    for (const Observation& observation : result.observations)
      std::cout << "  " << printable(to_string(observation.subject)) << "  " << printable(observation.name)
                << "  " << printable(value_of(observation)) << "\n";
    if (result.observations.empty())
      for (const Finding& finding : result.findings)
        std::cout << "  " << printable(finding.message) << "\n";
  }
}

int snapshot(const SnapshotOptions& options) {
  const auto settings = load_settings("");
  if (!settings) return report(settings.error());
  const auto all = checks_of(options.machine, *settings);
  if (!all) return report(all.error());
  const auto node = run_checks({.machine = options.machine}, *settings, all->checks, *all->facts);
  if (!node) return report(node.error());
  if (options.format == OutputFormat::table) {
    std::cout << recorded_line(options.machine);
    print_readings(*node);
  } else {
    print_json(api::to_json(*node), options.format);
  }
  return kExitHealthy;
}

}  // namespace

void add_snapshot(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<SnapshotOptions>();
  auto* verb = app.add_subcommand("snapshot", "Show all observations of this machine, without a verdict");
  add_machine_options(*verb, options->machine);
  add_format_option(*verb, options->format);
  verb->footer("Examples:\n  autopilot snapshot\n  autopilot snapshot -o json > before.json");
  verb->callback([options, &exit_code] { exit_code = snapshot(*options); });
}

namespace {

constexpr std::size_t kColumns = 80;
constexpr Duration kWindow = std::chrono::seconds{2};
constexpr Duration kLongestWindow = std::chrono::hours{1};

struct CheckOptions {
  std::vector<std::string> ids;
  std::vector<std::string> tags;
  bool list = false;
  bool no_agent = false;
  bool strict = false;
  bool all = false;  // print all checks
  std::optional<Duration> window;
  std::string config_file;
  std::string socket;
  MachineChoice machine;
  OutputFormat format = OutputFormat::table;
};

Result<std::vector<checks::Check>> selected(const CheckOptions& options,
                                            const std::vector<checks::Check>& all) {
  std::vector<std::string> known;
  for (const auto& check : all)
    known.push_back(check.info.id);
  for (const auto& id : options.ids) {
    if (std::find(known.begin(), known.end(), id) != known.end()) continue;
    std::string what = "no check '" + printable(id) + "'";
    if (const auto near = nearest_word(id, known)) what += "; did you mean " + *near + "?";
    return fail(Errc::not_found, what + " (list all checks with: autopilot check --list)");
  }
  std::vector<checks::Check> chosen;
  for (const auto& check : all) {
    const auto& ids = options.ids;
    const auto& tags = check.info.tags;
    const bool named = ids.empty() || std::find(ids.begin(), ids.end(), check.info.id) != ids.end();
    const bool tagged = std::all_of(
        options.tags.begin(), options.tags.end(),
        [&tags](const std::string& tag) { return std::find(tags.begin(), tags.end(), tag) != tags.end(); });
    if (named && tagged) chosen.push_back(check);
  }
  if (chosen.empty())
    return fail(Errc::not_found,
                "no check has all of these tags; list checks and tags with: autopilot check --list");
  return chosen;
}

std::vector<CheckInfo> infos_of(const std::vector<checks::Check>& checks) {
  std::vector<CheckInfo> infos;
  for (const auto& check : checks)
    infos.push_back(check.info);
  return infos;
}

void print_list(const std::vector<checks::Check>& chosen, bool simulated, OutputFormat format) {
  if (format != OutputFormat::table) {
    print_json(api::to_json(infos_of(chosen), {.simulated = simulated}), format);
    return;
  }
  std::cout << padded("CHECK", 24) << padded("EVERY", 6) << padded("COST", 9) << padded("NEEDS", 14)
            << "DESCRIPTION\n";
  std::set<std::string> tags;
  for (const auto& check : chosen) {
    const auto& info = check.info;
    tags.insert(info.tags.begin(), info.tags.end());
    std::cout << padded(info.id, 24) << padded(format_duration(info.period), 6)
              << padded(to_string(info.cost), 9)
              << padded(info.rights.empty() ? "-" : info.rights.front(), 14) << info.title << "\n";
    for (std::size_t i = 1; i < info.rights.size(); ++i)
      std::cout << padded("", 24 + 6 + 9) << info.rights[i] << "\n";
  }
  std::cout << "\n";
  for (const auto& line : wrapped("Tags for --tag: " + joined({tags.begin(), tags.end()}), kColumns))
    std::cout << line << "\n";
}

// The snapshot, reduced to the selected checks. Checks selected by id are required.
NodeSnapshot reduced(NodeSnapshot node, const std::vector<checks::Check>& chosen,
                     const CheckOptions& options) {
  const std::vector<CheckInfo> infos = infos_of(chosen);
  CheckResults results;
  for (CheckResult result : node.results) {
    if (std::ranges::find(infos, result.check, &CheckInfo::id) == infos.end()) continue;
    result.required = result.required || !options.ids.empty();
    results.push_back(std::move(result));
  }
  node.results = std::move(results);
  if (!options.ids.empty() || !options.tags.empty()) {
    node.health = incidents::node_health(node.results);
    node.coverage = incidents::coverage_of(node.results, infos);
  }
  return node;
}

struct CheckedNode {
  NodeSnapshot node;
  bool is_from_agent = false;
};

Result<CheckedNode> node_of(const CheckOptions& options, const config::Config& settings,
                            const std::vector<checks::Check>& chosen, const catalog::Catalog& facts) {
  if (options.machine.is_this_machine() && !options.no_agent) {
    const AgentClient agent(TRY(agent_target(options.socket)));
    if (agent.answers()) {
      CheckedNode checked;
      checked.node = TRY(agent.node());
      checked.is_from_agent = true;
      return checked;
    }
    if (!options.socket.empty())
      return fail(Errc::unavailable, "no agent answers at " + net::to_string(agent.target()) +
                                         "; leave --socket out to check without an agent");
  }
  const RunRequest request{.machine = options.machine,
                           .window = options.window.value_or(kWindow),
                           .watches_growth = options.window.has_value()};
  CheckedNode checked;
  checked.node = TRY(run_checks(request, settings, chosen, facts));
  return checked;
}

// --list runs no check, but a machine named by an option must exist.
Status is_there(const MachineChoice& machine, const config::Config& settings) {
  if (machine.is_this_machine()) return {};
  (void)TRY(open_machine(machine, settings, Timeline::at_end, {}));
  return {};
}

int check(const CheckOptions& options) {
  if (options.window > kLongestWindow) {
    std::cerr << "autopilot: --window: at most " << format_duration(kLongestWindow)
              << "; run an agent for longer observation: autopilot agent\n";
    return kExitUsage;
  }
  const auto settings = load_settings(options.config_file);
  if (!settings) return report(settings.error());
  const auto all = checks_of(options.machine, *settings);
  if (!all) return report(all.error());
  const auto chosen = selected(options, all->checks);
  if (!chosen) return report_usage(chosen.error().what);
  if (options.list) {
    if (const Status there = is_there(options.machine, *settings); !there) return report(there.error());
    print_list(*chosen, !options.machine.simulate.empty(), options.format);
    return kExitHealthy;
  }
  auto node = node_of(options, *settings, *chosen, *all->facts);
  if (!node) return report(node.error());
  const auto shown = reduced(std::move(node->node), *chosen, options);
  if (options.format == OutputFormat::table) std::cout << recorded_line(options.machine);
  const NodeDetail page = node->is_from_agent ? NodeDetail::page : NodeDetail::page_without_agent;
  print_node(shown, options.format, options.all ? NodeDetail::all : page, shown.time);
  return exit_code_of(shown, options.strict);
}

}  // namespace

void add_check(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<CheckOptions>();
  auto* verb = app.add_subcommand("check", "Check the health of this machine");
  verb->add_option("ID", options->ids, "Checks to run (default: all)");
  verb->add_option("-t,--tag", options->tags,
                   "Run only checks with this tag; with several tags, checks that have all of them")
      ->type_name("TAG");
  verb->add_flag("-l,--list", options->list, "List checks with their permissions, cost and tags; run none");
  add_duration_option(*verb, "--window", options->window,
                      "Time between two runs of checks that judge growth; 0s: one run.\n"
                      "Default: 2s, only for checks that need two runs for any result");
  verb->add_flag("-a,--all", options->all, "Print all checks as a table, also those without a problem");
  verb->add_flag("--no-agent", options->no_agent, "Run the checks now, even if an agent runs here");
  verb->add_flag("--strict", options->strict, "Exit with 3 if any check could not run");
  verb->add_option("--config", options->config_file, "Configuration file")->type_name("FILE");
  add_machine_options(*verb, options->machine);
  add_format_option(*verb, options->format);
  add_socket_option(*verb, options->socket);
  verb->footer(
      "Examples:\n  autopilot check\n  autopilot check --all\n  autopilot check gpu.xid gpu.ecc --no-agent\n"
      "  autopilot check --tag storage -o json\n  autopilot check --simulate hgx-h100-8");
  verb->callback([options, &exit_code] { exit_code = check(*options); });
}

}  // namespace autopilot::cli
