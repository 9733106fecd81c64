// SPDX-License-Identifier: Apache-2.0
#include "checks/check.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <set>
#include <vector>

#include "api/v1.hpp"
#include "cli/agent_client.hpp"
#include "cli/cli.hpp"
#include "cli/duration_option.hpp"
#include "cli/look.hpp"
#include "cli/machine.hpp"
#include "cli/machine_checks.hpp"
#include "cli/output/exit_code.hpp"
#include "cli/output/format.hpp"
#include "cli/output/table.hpp"
#include "cli/output/terminal.hpp"
#include "cli/settings.hpp"
#include "cli/verbs.hpp"
#include "core/nearest.hpp"
#include "incidents/verdict.hpp"

namespace autopilot::cli {
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

std::string joined(const std::vector<std::string>& words, const char* separator) {
  std::string text;
  for (const auto& word : words)
    text += (text.empty() ? "" : separator) + word;
  return text;
}

std::string cell(std::string text, std::size_t width) {
  text.resize(std::max(width, text.size() + 1), ' ');
  return text;
}

void print_list(const std::vector<checks::Check>& chosen, bool simulated, OutputFormat format) {
  if (format != OutputFormat::table) {
    std::vector<CheckInfo> infos;
    for (const auto& check : chosen)
      infos.push_back(check.info);
    print_json(api::to_json(infos, {.simulated = simulated}), format);
    return;
  }
  std::cout << cell("CHECK", 24) << cell("EVERY", 6) << cell("COST", 9) << cell("NEEDS", 14)
            << "DESCRIPTION\n";
  std::set<std::string> tags;
  for (const auto& check : chosen) {
    const auto& info = check.info;
    tags.insert(info.tags.begin(), info.tags.end());
    std::cout << cell(info.id, 24) << cell(format_duration(info.period), 6)
              << cell(std::string(to_string(info.cost)), 9)
              << cell(info.rights.empty() ? "-" : info.rights.front(), 14) << info.title << "\n";
    for (std::size_t i = 1; i < info.rights.size(); ++i)
      std::cout << cell("", 24 + 6 + 9) << info.rights[i] << "\n";
  }
  std::cout << "\n";
  for (const auto& line : wrapped("Tags for --tag: " + joined({tags.begin(), tags.end()}, ", "), kColumns))
    std::cout << line << "\n";
}

// The snapshot, reduced to the selected checks. Checks selected by id are required.
NodeSnapshot reduced(NodeSnapshot node, const std::vector<checks::Check>& chosen,
                     const CheckOptions& options) {
  std::vector<CheckInfo> infos;
  for (const auto& check : chosen)
    infos.push_back(check.info);
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

Result<NodeSnapshot> node_of(const CheckOptions& options, const std::vector<checks::Check>& chosen,
                             const catalog::Catalog& facts) {
  if (options.machine.is_this_machine() && !options.no_agent) {
    const AgentClient agent(TRY(agent_target(options.socket)));
    if (agent.answers()) return agent.node();
    if (!options.socket.empty())
      return fail(Errc::unavailable, "no agent answers at " + net::to_string(agent.target()) +
                                         "; leave --socket out to check without an agent");
  }
  const LookRequest request{.machine = options.machine,
                            .config_file = options.config_file,
                            .window = options.window.value_or(kWindow),
                            .watches_growth = options.window.has_value()};
  return look(request, chosen, facts);
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
  if (!chosen) {
    (void)report(chosen.error());
    return kExitUsage;
  }
  if (options.list) {
    if (const Status there = is_there(options.machine, *settings); !there) return report(there.error());
    print_list(*chosen, !options.machine.simulate.empty(), options.format);
    return kExitHealthy;
  }
  auto node = node_of(options, *chosen, *all->facts);
  if (!node) return report(node.error());
  const auto shown = reduced(std::move(*node), *chosen, options);
  print_node(shown, options.format);
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
  verb->add_flag("--no-agent", options->no_agent, "Run the checks now, even if an agent runs here");
  verb->add_flag("--strict", options->strict, "Exit with 3 if any check could not run");
  verb->add_option("--config", options->config_file, "Configuration file")->type_name("FILE");
  add_machine_options(*verb, options->machine);
  add_format_option(*verb, options->format);
  add_socket_option(*verb, options->socket);
  verb->footer(
      "Exit status: 0 healthy, 1 degraded, 2 failed, 3 a required check could not run\n"
      "or no check applies to this machine, 64 usage, 78 configuration, 70 internal.\n"
      "Examples:\n  autopilot check\n  autopilot check gpu.xid gpu.ecc --no-agent\n"
      "  autopilot check --tag storage -o json\n  autopilot check --simulate hgx-h100-8");
  verb->callback([options, &exit_code] { exit_code = check(*options); });
}

}  // namespace autopilot::cli
