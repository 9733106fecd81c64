// SPDX-License-Identifier: Apache-2.0
#include "cli/test_request.hpp"

#include <CLI/CLI.hpp>

#include "cli/duration_option.hpp"

namespace autopilot::cli {

void add_test_options(CLI::App& verb, TestRequest& request) {
  verb.add_option("ID", request.ids, "Diagnostics to run in this order; without an ID: list them");
  add_duration_option(verb, "--deadline", request.deadline, "Stop a diagnostic after this time");
  add_format_option(verb, request.format);
}

}  // namespace autopilot::cli
