// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>

#include "core/result.hpp"

namespace autopilot::simulator {

// Each adds one subcommand; its callback stores the outcome.
void add_machines(CLI::App& app, Status& outcome);
void add_faults(CLI::App& app, Status& outcome);
void add_create(CLI::App& app, Status& outcome);
void add_play(CLI::App& app, Status& outcome);
void add_inject(CLI::App& app, Status& outcome);
void add_readings(CLI::App& app, Status& outcome);
void add_recover(CLI::App& app, Status& outcome);
void add_advance(CLI::App& app, Status& outcome);
void add_feed(CLI::App& app, Status& outcome);
void add_deep_test(CLI::App& app, Status& outcome);
void add_jobs(CLI::App& app, Status& outcome);

}  // namespace autopilot::simulator
