// SPDX-License-Identifier: Apache-2.0
#include "cli/kubectl/test.hpp"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/v1.hpp"
#include "cli/agent_client.hpp"
#include "cli/cli.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/print.hpp"
#include "cli/output/test_table.hpp"
#include "cli/settings.hpp"
#include "cli/test_follower.hpp"
#include "cli/verbs.hpp"

namespace autopilot::cli {
namespace {

struct TestOptions {
  TestRequest request;
  std::string socket;
  ClusterOptions cluster;
  TestPlace place;  // no node: this machine
};

int list(const AgentClient& agent, OutputFormat format) {
  const auto answer = agent.get("/v1/tests");
  if (!answer) return report(answer.error());
  const auto tests = api::parse_tests(*answer);
  if (!tests) return report(tests.error());
  if (format == OutputFormat::table)
    std::cout << render_test_list(*tests, terminal_style());
  else
    print_json(*answer, format);
  return kExitHealthy;
}

void print(const std::vector<FinishedTest>& tests, OutputFormat format) {
  if (tests.empty()) return;
  if (format == OutputFormat::table)
    std::cout << simulated_line(are_simulated(tests), terminal_style())
              << render_tests(tests, terminal_style());
  else
    print_json(tests_json(tests), format);
}

// Continues with the next diagnostic when one is refused.
int make(const AgentClient& agent, const TestRequest& request) {
  TestFollower follower(agent);
  std::vector<FinishedTest> tests;
  Health health = Health::healthy;
  int exit_code = kExitHealthy;
  for (const std::string& id : request.ids) {
    if (follower.is_interrupted()) {
      tell(id + " was not run: interrupted");
      health = worst(health, Health::unknown);
      continue;
    }
    auto test = follower.run({id, {}, request.deadline});
    if (!test) {
      exit_code = exit_code_of(test.error());
      tell(test.error().what);
      continue;
    }
    health = worst(health, health_of(*test));
    tests.push_back(std::move(*test));
  }
  print(tests, request.format);
  return exit_code != kExitHealthy ? exit_code : exit_code_of(health);
}

int test(const TestOptions& options) {
  const TestRequest& request = options.request;
  if (!options.place.node.empty()) return run_on_node(options.cluster, options.place, test_words(request));
  const auto target = agent_target(options.socket);
  if (!target) return report(target.error());
  const AgentClient agent(*target);
  return request.ids.empty() ? list(agent, request.format) : make(agent, request);
}

}  // namespace

void add_test(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<TestOptions>();
  auto* verb = app.add_subcommand("test", "Run a diagnostic now and wait for its result");
  add_test_options(*verb, options->request);
  add_socket_option(*verb, options->socket);
  add_node_option(*verb, options->place.node)->excludes("--socket");
  add_namespace_option(*verb, options->place.name_space);
  add_cluster_options(*verb, options->cluster);
  verb->footer(
      "A diagnostic puts load on the hardware, or creates objects in a cluster. It skips\n"
      "hardware in use. Ctrl-C stops the running diagnostic.\n"
      "Examples:\n  autopilot test\n  autopilot test storage.pvc\n"
      "  autopilot test gpu.diagnosis --deadline 1h -o json\n  autopilot test storage.pvc --node gpu-7");
  verb->callback([options, &exit_code] { exit_code = test(*options); });
}

}  // namespace autopilot::cli
