// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "cli/kubectl/cluster.hpp"
#include "cli/test_follower.hpp"

namespace autopilot::cli {

// The node whose agent runs a diagnostic, and its namespace.
struct TestPlace {
  std::string node;
  std::string name_space = InstallationOptions{}.name_space;
};

// `test` and its arguments.
[[nodiscard]] std::vector<std::string> test_words(const TestRequest& request);

// The arguments of `kubectl` that run autopilot with these words in the pod of an agent. has_terminal: pass
// on keys such as Ctrl-C. Pure.
[[nodiscard]] std::vector<std::string> exec_arguments(const ClusterOptions& cluster,
                                                      const std::string& name_space, const std::string& pod,
                                                      const std::vector<std::string>& words,
                                                      bool has_terminal);

// --node of a verb.
CLI::Option* add_node_option(CLI::App& verb, std::string& node);

// Finds the pod of the agent on that node and replaces this process by kubectl, which needs permission to
// `create` pods/exec there. Returns an exit code on failure.
[[nodiscard]] int run_on_node(const ClusterOptions& cluster, const TestPlace& place,
                              const std::vector<std::string>& words);

}  // namespace autopilot::cli
