// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <csignal>
#include <exception>
#include <iostream>
#include <string_view>

#include "cli/cli.hpp"
#include "fleet/fleet.hpp"

namespace autopilot::fleet {
namespace {

constexpr int kFailed = 1;

struct Arguments {
  std::size_t nodes = 0;
  std::string prefix = "sim-";
  std::vector<std::string> faults;
  std::size_t faulty = 0;
  std::uint64_t seed = 1;
  std::string within = "1m";
  std::string heartbeat = "5m";
  FleetOptions options{.config = {}, .nodes = {}, .machine = "hgx-h100-8", .faults = {}, .listen = {}};
};

Result<Duration> duration_of(const std::string& option, const std::string& text) {
  if (const auto duration = parse_duration(text); duration && *duration > Duration{0}) return *duration;
  return fail(Errc::malformed, option + ": expected a duration such as 30s, not '" + text + "'");
}

Status start(Arguments& arguments) {
  FleetOptions& options = arguments.options;
  options.config.kubernetes.write_node = true;
  // Each has one for its checks: there is nothing here that hangs for long.
  options.config.limits.lanes = 1;
  options.heartbeat = TRY(duration_of("--heartbeat", arguments.heartbeat));
  for (std::size_t number = 0; number < arguments.nodes; ++number)
    options.nodes.push_back(arguments.prefix + std::to_string(number));
  options.faults = draw_faults(options.nodes, arguments.faulty, arguments.seed,
                               TRY(duration_of("--within", arguments.within)));
  for (const std::string& text : arguments.faults)
    options.faults.push_back(TRY(parse_planned_fault(text)));
  for (const PlannedFault& fault : options.faults)
    std::cout << to_string(fault) << std::endl;
  return run_fleet(std::move(options));
}

void add_options(CLI::App& app, Arguments& arguments) {
  app.add_option("--kubeconfig", arguments.options.config.kubernetes.kubeconfig,
                 "The cluster, and who they are there")
      ->required();
  app.add_option("--nodes", arguments.nodes, "How many")->required()->check(CLI::PositiveNumber);
  app.add_option("--prefix", arguments.prefix, "The nodes are PREFIX0, PREFIX1, ...")->capture_default_str();
  app.add_option("--machine", arguments.options.machine, "What each node is: see `autopilot-sim machines`")
      ->capture_default_str();
  app.add_option(
         "--fault", arguments.faults,
         "node=NAME,fault=NAME[,subject=KIND/KEY][,magnitude=N][,at=TIME][,for=TIME]; the time begins "
         "when every agent has written. May be given several times")
      ->take_all();
  app.add_option("--faulty", arguments.faulty, "So many nodes get a fault that evicts, drawn by --seed");
  app.add_option("--seed", arguments.seed, "Which ones, what, and when")->capture_default_str();
  app.add_option("--within", arguments.within, "In how much time they come")->capture_default_str();
  app.add_option("--heartbeat", arguments.heartbeat, "How often an agent writes what has not changed")
      ->capture_default_str();
  app.add_option(
      "--listen", arguments.options.listen,
      "Where the first one answers as an agent does (ADDRESS:PORT); the others at the next addresses");
  app.add_flag("--allow-simulated", arguments.options.allow_simulated,
               "These machines do not exist, and are to be written to the cluster all the same");
}

int run(int argc, char** argv) {
  CLI::App app{"Agents of simulated machines, many in one process, that write to a real cluster (for tests).",
               "autopilot-fleet-sim"};
  Arguments arguments;
  add_options(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    app.exit(error, std::cout, std::cerr);
    return cli::kExitUsage;
  } catch (const std::exception& error) {
    std::cerr << "autopilot-fleet-sim: internal error: " << error.what() << "\n";
    return cli::kExitInternal;
  }
  // The reader of the log can end before this program.
  std::signal(SIGPIPE, SIG_IGN);
  const auto ended = start(arguments);
  if (ended) return 0;
  std::cerr << "autopilot-fleet-sim: " << ended.error().what << "\n";
  return kFailed;
}

}  // namespace
}  // namespace autopilot::fleet

int main(int argc, char** argv) {
  // As the agent does, it is its own helper process.
  if (argc > 1 && std::string_view(argv[1]) == "helper") return autopilot::cli::run(argc, argv);
  return autopilot::fleet::run(argc, argv);
}
