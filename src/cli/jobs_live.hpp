// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>

namespace autopilot::cli {

// Adds the verbs of `jobs` that ask the agent: list (also without a verb), show, why, evidence, ack,
// feedback, mute.
void add_live_jobs(CLI::App& jobs, int& exit_code);

}  // namespace autopilot::cli
