// SPDX-License-Identifier: Apache-2.0
#include "cli/kubectl/test.hpp"

#include <CLI/CLI.hpp>
#include <memory>
#include <unistd.h>

#include "cli/cli.hpp"
#include "cli/kubectl/cluster.hpp"
#include "cli/kubectl/plugin.hpp"
#include "cli/output/print.hpp"
#include "host/process/child.hpp"
#include "kube/objects.hpp"

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
      "Examples:\n  kubectl autopilot test --node gpu-7\n"
      "  kubectl autopilot test storage.pvc --node gpu-7\n"
      "  kubectl autopilot test gpu.diagnosis --node gpu-7 -o json");
  verb->callback([&cluster, request, place, &exit_code] {
    exit_code = run_on_node(cluster, *place, test_words(*request));
  });
}

namespace {

constexpr const char* kContainer = "agent";
constexpr const char* kProgram = "/usr/bin/autopilot";  // in the image
constexpr const char* kAgents = "app.kubernetes.io/name=autopilot,app.kubernetes.io/component=agent";
constexpr std::size_t kPodsInAPage = 50;

// The running pod; a pod that is being replaced may exist beside it.
Result<std::string> agent_pod(ClusterReader& cluster, const TestPlace& place) {
  const std::string& name_space = place.name_space;
  std::string running;
  TRY_STATUS(cluster.list({"/api/v1/namespaces/" + name_space + "/pods",
                           {{"labelSelector", kAgents}, {"fieldSelector", "spec.nodeName=" + place.node}}},
                          kPodsInAPage, {"list pods in the namespace " + name_space, ""},
                          [&running](const kube::JsonObject& object) {
                            const kube::Pod pod = kube::parse_pod(object);
                            if (pod.phase == "Running" && !pod.meta.is_deleting) running = pod.meta.name;
                          }));
  if (running.empty())
    return fail(Errc::not_found,
                "no agent runs on a node " + place.node + " in the namespace " + name_space +
                    "; list nodes with: kubectl autopilot nodes; choose another namespace with --namespace");
  return running;
}

bool has_terminal() {
  return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
}

}  // namespace

std::vector<std::string> test_words(const TestRequest& request) {
  std::vector<std::string> words{"test", "--output=" + format_name(request.format)};
  if (request.deadline) words.push_back("--deadline=" + format_duration(*request.deadline));
  // Words after it are ids, even with a leading dash.
  words.emplace_back("--");
  words.insert(words.end(), request.ids.begin(), request.ids.end());
  return words;
}

std::vector<std::string> exec_arguments(const ClusterOptions& cluster, const std::string& name_space,
                                        const std::string& pod, const std::vector<std::string>& words,
                                        bool has_terminal) {
  std::vector<std::string> arguments;
  if (!cluster.kubeconfig.empty()) arguments.push_back("--kubeconfig=" + cluster.kubeconfig);
  if (!cluster.context.empty()) arguments.push_back("--context=" + cluster.context);
  arguments.insert(arguments.end(),
                   {"--namespace=" + name_space, "exec", pod, std::string("--container=") + kContainer});
  if (has_terminal) arguments.insert(arguments.end(), {"--stdin", "--tty"});
  arguments.insert(arguments.end(), {"--", kProgram});
  arguments.insert(arguments.end(), words.begin(), words.end());
  return arguments;
}

CLI::Option* add_node_option(CLI::App& verb, std::string& node) {
  return verb.add_option("--node", node, "Run on the agent of this node, with 'kubectl exec' in its pod")
      ->type_name("NAME")
      ->check(
          [](const std::string& text) { return is_object_name(text) ? "" : "expected the name of a node"; });
}

int run_on_node(const ClusterOptions& cluster, const TestPlace& place,
                const std::vector<std::string>& words) {
  const auto reader = ClusterReader::open(cluster);
  if (!reader) return report(reader.error());
  const auto pod = agent_pod(**reader, place);
  if (!pod) {
    const int exit_code = report(pod.error());
    return pod.error().code == Errc::not_found ? kExitUsage : exit_code;
  }
  const Error why = host::replace_process(
      "kubectl", exec_arguments(cluster, place.name_space, *pod, words, has_terminal()));
  return report({why.code, why.what + "; a diagnostic on another node needs kubectl in PATH"});
}

}  // namespace autopilot::cli
