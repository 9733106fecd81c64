// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.hpp"

#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>

#include "cli/verbs.hpp"

namespace autopilot::cli {

int run(int argc, char** argv) {
  CLI::App app{
      "Autopilot says what is healthy on this machine, what is not, what it could not see, and why."};
  app.require_subcommand(1);
  int exit_code = kExitHealthy;
  add_check(app, exit_code);
  add_status(app, exit_code);
  add_snapshot(app, exit_code);
  add_events(app, exit_code);
  add_explain(app, exit_code);
  add_agent(app, exit_code);
  add_inject(app, exit_code);
  add_record(app, exit_code);
  add_completion(app, exit_code);
  add_version(app, exit_code);
  add_decode(app, exit_code);
  add_helper(app, exit_code);
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

}  // namespace autopilot::cli
