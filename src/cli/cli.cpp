// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.hpp"

#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "cli/help_format.hpp"
#include "cli/verbs.hpp"
#include "core/nearest.hpp"
#include "host/process/standard_streams.hpp"

namespace autopilot::cli {
namespace {

std::vector<std::string> verbs_of(const CLI::App& app) {
  std::vector<std::string> verbs;
  for (const CLI::App* verb :
       app.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); }))
    verbs.push_back(verb->get_name());
  return verbs;
}

// CLI11 would only say that a subcommand is missing.
bool is_verb_missing(const CLI::App& app, int argc, char** argv) {
  if (argc < 2) {
    std::cerr << app.help();
    return true;
  }
  const std::string word = argv[1];
  const auto known = app.get_subcommands([&word](const CLI::App* verb) { return verb->get_name() == word; });
  if (word == "-h" || word == "--help" || !known.empty()) return false;
  std::cerr << "autopilot: no verb '" << word << "'";
  if (const auto near = nearest_word(word, verbs_of(app))) std::cerr << "; did you mean " << *near << "?";
  std::cerr << "\nautopilot --help lists them.\n";
  return true;
}

std::string failure_text(const CLI::App*, const CLI::Error& error) {
  return std::string("autopilot: ") + error.what() + "\nRun with --help for more information.\n";
}

int run_verb(int argc, char** argv) {
  CLI::App app{"Autopilot says what is healthy on this machine, what is not, what it could not see, and why.",
               "autopilot"};
  app.formatter(std::make_shared<HelpFormat>());
  app.require_subcommand(1);
  int exit_code = kExitHealthy;
  add_check(app, exit_code);
  add_status(app, exit_code);
  add_snapshot(app, exit_code);
  add_events(app, exit_code);
  add_explain(app, exit_code);
  add_ack(app, exit_code);
  add_agent(app, exit_code);
  add_inject(app, exit_code);
  add_record(app, exit_code);
  add_completion(app, exit_code);
  add_version(app, exit_code);
  add_decode(app, exit_code);
  add_helper(app, exit_code);
  app.failure_message(failure_text);
  if (is_verb_missing(app, argc, argv)) return kExitUsage;
  try {
    app.parse(argc, argv);
    return exit_code;
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    app.exit(error, std::cout, std::cerr);
    return kExitUsage;
  } catch (const std::exception& error) {
    std::cerr << "autopilot: internal error: " << error.what() << "\n";
    return kExitInternal;
  }
}

}  // namespace

int run(int argc, char** argv) {
  host::keep_standard_streams_taken();
  const int exit_code = run_verb(argc, argv);
  std::cout.flush();
  if (std::cout.good()) return exit_code;
  std::cerr << "autopilot: the output could not be written; is standard output open, and is there room?\n";
  return kExitInternal;
}

}  // namespace autopilot::cli
