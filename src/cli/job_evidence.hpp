// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>

namespace autopilot::cli {

// Adds `jobs evidence`: lists what the agent captured about jobs that were suspected to hang, prints a file
// of it, or copies all of it into a folder.
void add_job_evidence(CLI::App& jobs, int& exit_code);

}  // namespace autopilot::cli
