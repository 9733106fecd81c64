// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "cli/completion/scripts.hpp"
#include "cli/daemons.hpp"
#include "cli/help_format.hpp"
#include "cli/kubectl/plugin.hpp"
#include "cli/output/print.hpp"
#include "cli/output/table.hpp"
#include "cli/settings.hpp"
#include "cli/verbs.hpp"
#include "compat/ibm_autopilot/daemon_settings.hpp"
#include "core/text.hpp"
#include "host/process/own_process.hpp"

namespace autopilot::cli {

int exit_code_of(Health health) {
  switch (health) {
    case Health::failed:
      return kExitFailed;
    case Health::unknown:
      return kExitUnknown;
    case Health::degraded:
      return kExitDegraded;
    case Health::healthy:
    case Health::unsupported:
      break;
  }
  return kExitHealthy;
}

int exit_code_of(const NodeSnapshot& snapshot, bool strict) {
  if (snapshot.health == Health::failed) return kExitFailed;
  const bool any_unknown =
      std::any_of(snapshot.results.begin(), snapshot.results.end(),
                  [](const CheckResult& result) { return result.health == Health::unknown; });
  return strict && any_unknown ? kExitUnknown : exit_code_of(snapshot.health);
}

namespace {

std::vector<std::string> verbs_of(const CLI::App& app) {
  std::vector<std::string> verbs;
  for (const CLI::App* verb :
       app.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); }))
    verbs.push_back(verb->get_name());
  return verbs;
}

bool is_option(const CLI::App& app, const std::string& word) {
  return word.starts_with('-') && app.get_option_no_throw(word.substr(0, word.find('='))) != nullptr;
}

// CLI11 alone reports only that a subcommand is missing.
bool is_verb_missing(const CLI::App& app, int argc, char** argv) {
  if (argc < 2) {
    std::cerr << app.help();
    return true;
  }
  const std::string word = argv[1];
  const auto known = app.get_subcommands([&word](const CLI::App* verb) { return verb->get_name() == word; });
  if (is_option(app, word) || !known.empty()) return false;
  std::cerr << "autopilot: no verb '" << printable(word) << "'";
  if (const auto near = nearest_word(word, verbs_of(app))) std::cerr << "; did you mean " << *near << "?";
  std::cerr << "\n" << app.get_name() << " --help lists the verbs.\n";
  return true;
}

std::string failure_text(const CLI::App*, const CLI::Error& error) {
  return std::string("autopilot: ") + error.what() + "\nRun with --help for more information.\n";
}

// Parses and runs the verb; its callback stores the exit code.
int run_program(CLI::App& app, int argc, char** argv, const int& exit_code) {
  app.require_subcommand(1);
  app.set_version_flag(
      "--version", [] { return version_line(); }, "Print the version and exit");
  app.failure_message(failure_text);
  if (is_verb_missing(app, argc, argv)) return kExitUsage;
  try {
    app.parse(argc, argv);
    return exit_code;
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    std::ostringstream output;
    app.exit(error, output, output);
    std::string text = output.str();
    if (text.ends_with('\n')) text.pop_back();
    tell(text, "");
    return kExitUsage;
  } catch (const std::exception& error) {
    tell(std::string("internal error: ") + error.what());
    return kExitInternal;
  }
}

// IBM Autopilot's daemon is started by flags alone, without a verb.
int run_as_daemon(const std::vector<std::string>& words) {
  const auto settings = compat::ibm_autopilot::daemon_settings(words, environment());
  if (!settings) return report_usage(settings.error().what);
  return run_agent_verb({.listen = {},
                         .config_file = {},
                         .machine = {},
                         .allow_simulated = false,
                         .base = settings->settings,
                         .not_used = settings->not_used});
}

int run_autopilot(int argc, char** argv) {
  if (argc > 1 && compat::ibm_autopilot::is_daemon_flag(argv[1]))
    return run_as_daemon({argv + 1, argv + argc});

  CLI::App app{
      "Autopilot reports what is healthy on this machine, what is not, what it could not check, and the "
      "reason for each.",
      "autopilot"};
  app.formatter(std::make_shared<HelpFormat>());  // verbs inherit it
  ClusterOptions cluster;
  int exit_code = kExitHealthy;
  add_check(app, exit_code);
  add_status(app, exit_code);
  add_snapshot(app, exit_code);
  add_why(app, exit_code);
  add_doctor(app, exit_code);
  add_config(app, exit_code);
  add_demo(app, exit_code);
  add_drift(app, exit_code);
  add_events(app, exit_code);
  add_explain(app, exit_code);
  add_ack(app, exit_code);
  add_test(app, exit_code);
  add_network(app, exit_code);
  add_preflight(app, exit_code);
  add_agent(app, exit_code);
  add_controller(app, exit_code);
  add_plan(app, cluster, exit_code);
  add_inject(app, exit_code);
  add_record(app, exit_code);
  add_replay(app, exit_code);
  add_jobs(app, exit_code);
  add_slurm(app, exit_code);
  add_learn(app, exit_code);
  add_history(app, exit_code);
  add_nodes(app, exit_code);
  add_report(app, exit_code);
  add_compare(app, exit_code);
  add_backfill(app, exit_code);
  add_validations(app, exit_code);
  add_migrate(app, exit_code);
  add_completion(app, exit_code);
  add_man(app, exit_code);
  add_version(app, exit_code);
  add_decode(app, exit_code);
  add_helper(app, exit_code);
  if (argc > 2 && argv[1] == kCompleteWord) {
    write_completion(std::cout, app, argv[2], {argv + 3, argv + argc});
    return kExitHealthy;
  }
  return run_program(app, argc, argv, exit_code);
}

int run_kubectl(Program program, int argc, char** argv) {
  CLI::App app{"Autopilot reports which nodes of a cluster are healthy, which are not, and why.",
               "kubectl autopilot"};
  app.formatter(std::make_shared<HelpFormat>());
  ClusterOptions cluster;
  int exit_code = kExitHealthy;
  add_kubectl_verbs(app, cluster, exit_code);
  if (program == Program::kubectl_plugin) return run_program(app, argc, argv, exit_code);
  write_completions(std::cout, app, {argv + 1, argv + argc});
  return kExitHealthy;
}

}  // namespace

int run(int argc, char** argv) {
  host::keep_standard_streams_taken();
  std::vector<char*> words(argv, argv + argc);
  std::string help = "--help";
  // "autopilot help check" is "autopilot check --help".
  if (argc > 1 && std::string_view(argv[1]) == "help") {
    words.erase(words.begin() + 1);
    words.push_back(help.data());
  }
  words.push_back(nullptr);
  argv = words.data();
  const Program program = argc < 1 ? Program::autopilot : program_of(argv[0]);
  const int exit_code =
      program == Program::autopilot ? run_autopilot(argc, argv) : run_kubectl(program, argc, argv);
  std::cout.flush();
  if (std::cout.good()) return exit_code;
  std::cerr << "autopilot: the output could not be written; check that standard output is open and the disk "
               "has room\n";
  return kExitInternal;
}

}  // namespace autopilot::cli
