// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/output/format.hpp"
#include "core/clock.hpp"

namespace autopilot::cli {

// What an agent is to test.
struct TestRequest {
  std::vector<std::string> ids;  // one after the other; empty: which there are
  std::optional<Duration> deadline;
  OutputFormat format = OutputFormat::table;
};

// ID..., --deadline and -o of a verb.
void add_test_options(CLI::App& verb, TestRequest& request);

}  // namespace autopilot::cli
