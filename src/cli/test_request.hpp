// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/output/format.hpp"
#include "core/clock.hpp"

namespace autopilot::cli {

// A request for diagnostics.
struct TestRequest {
  std::vector<std::string> ids;  // run in this order; empty: list the diagnostics
  std::optional<Duration> deadline;
  OutputFormat format = OutputFormat::table;
};

// ID..., --deadline and -o of a verb.
void add_test_options(CLI::App& verb, TestRequest& request);

}  // namespace autopilot::cli
