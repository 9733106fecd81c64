// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>
#include <string>

namespace autopilot::cli {

struct ClusterOptions;

// Each function adds the subcommand of a verb. Its callback stores the exit code.
void add_check(CLI::App& app, int& exit_code);
void add_snapshot(CLI::App& app, int& exit_code);
void add_completion(CLI::App& app, int& exit_code);
void add_man(CLI::App& app, int& exit_code);
void add_version(CLI::App& app, int& exit_code);
void add_status(CLI::App& app, int& exit_code);
void add_agent(CLI::App& app, int& exit_code);
void add_controller(CLI::App& app, int& exit_code);
void add_events(CLI::App& app, int& exit_code);
// of_this_machine: without a word, or with an incident, the agent of this machine is asked.
void add_explain(CLI::App& app, int& exit_code, bool of_this_machine = true);
void add_why(CLI::App& app, int& exit_code);
void add_doctor(CLI::App& app, int& exit_code);
void add_demo(CLI::App& app, int& exit_code);
void add_drift(CLI::App& app, int& exit_code);
void add_config(CLI::App& app, int& exit_code);
void add_decode(CLI::App& app, int& exit_code);
void add_ack(CLI::App& app, int& exit_code);
void add_test(CLI::App& app, int& exit_code);
void add_network(CLI::App& app, int& exit_code);
void add_preflight(CLI::App& app, int& exit_code);
void add_inject(CLI::App& app, int& exit_code);
void add_record(CLI::App& app, int& exit_code);
// `cluster` outlives `app`.
void add_cluster_jobs(CLI::App& app, ClusterOptions& cluster, int& exit_code);
void add_plan(CLI::App& app, ClusterOptions& cluster, int& exit_code);
void add_replay(CLI::App& app, int& exit_code);
void add_jobs(CLI::App& app, int& exit_code);
void add_slurm(CLI::App& app, int& exit_code);
void add_learn(CLI::App& app, int& exit_code);
void add_history(CLI::App& app, int& exit_code);
void add_nodes(CLI::App& app, int& exit_code);
void add_migrate(CLI::App& app, int& exit_code);
void add_report(CLI::App& app, int& exit_code);
void add_compare(CLI::App& app, int& exit_code);
void add_backfill(CLI::App& app, int& exit_code);
void add_validations(CLI::App& app, int& exit_code);
void add_helper(CLI::App& app, int& exit_code);  // hidden: for the agent

// "autopilot 0.1.0 (0123abcd, clang 16.0.6, Release, glibc 2.36)"
[[nodiscard]] std::string version_line();

}  // namespace autopilot::cli
