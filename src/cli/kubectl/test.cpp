// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/kubectl/run_on_node.hpp"
#include "cli/kubectl/verbs.hpp"

namespace autopilot::cli {

void add_cluster_test(CLI::App& app, ClusterOptions& cluster, int& exit_code) {
  auto request = std::make_shared<TestRequest>();
  auto place = std::make_shared<TestPlace>();
  auto* verb = app.add_subcommand("test", "Run a diagnostic on a node and wait for its result");
  add_node_option(*verb, place->node)->required();
  add_test_options(*verb, *request);
  add_namespace_option(*verb, place->name_space);
  add_cluster_options(*verb, cluster);
  verb->footer(
      "Runs 'autopilot test' in the pod of the agent with 'kubectl exec', which needs\n"
      "permission to create pods/exec. Without an ID: lists the agent's diagnostics.\n"
      "Exit status: the worst result: 0 healthy, 1 degraded, 2 failed, 3 not tested;\n"
      "64 usage, no such node or diagnostic, 78 kubeconfig, 70 no answer.\n"
      "Examples:\n  kubectl autopilot test --node gpu-7\n"
      "  kubectl autopilot test storage.pvc --node gpu-7\n"
      "  kubectl autopilot test gpu.diagnosis --node gpu-7 -o json");
  verb->callback([&cluster, request, place, &exit_code] {
    exit_code = run_on_node(cluster, *place, test_words(*request));
  });
}

}  // namespace autopilot::cli
