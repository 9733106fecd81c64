// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <chrono>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/bandwidth.hpp"
#include "cli/agent_client.hpp"
#include "cli/cli.hpp"
#include "cli/kubectl/cluster.hpp"
#include "cli/kubectl/test.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/network_tables.hpp"
#include "cli/output/print.hpp"
#include "cli/output/test_table.hpp"
#include "cli/settings.hpp"
#include "cli/test_follower.hpp"
#include "cli/verbs.hpp"
#include "kube/objects.hpp"

namespace autopilot::cli {
namespace {

constexpr const char* kTcp = "tcp";
constexpr const char* kRdma = "rdma";
constexpr const char* kNccl = "nccl";
constexpr const char* kPing = "ping";
constexpr const char* kHostMemory = "host";
constexpr const char* kGpuMemory = "gpu";
// Leaves the links to other traffic.
constexpr Duration kBetweenTests = std::chrono::seconds{5};
constexpr std::size_t kObjectsInAPage = 500;

// Selection of nodes of a cluster.
struct NodeSelection {
  std::string job;         // "<namespace>:<label selector>" of pods: the nodes of these pods
  std::string node_label;  // a label selector of nodes

  [[nodiscard]] bool is_empty() const { return job.empty() && node_label.empty(); }
};

struct NetworkTestOptions {
  std::string kind = kTcp;
  std::string memory = kHostMemory;
  std::vector<std::string> nodes;
  NodeSelection selection;
  ClusterOptions cluster;
  TestPlace place;  // no node and no selection: this node
  std::optional<Duration> deadline;
  bool together = false;  // one NCCL all-reduce over many nodes instead of pairs
  bool plan = false;      // show the plan, measure nothing
  bool watch = false;     // repeat until interrupted
  OutputFormat format = OutputFormat::table;
  std::string socket;
};

using Names = std::set<std::string>;

Status check_job(const std::string& job) {
  const auto colon = job.find(':');
  const bool is_one =
      colon != std::string::npos && is_object_name(job.substr(0, colon)) && colon + 1 < job.size();
  if (job.empty() || is_one) return {};
  return fail(Errc::malformed,
              "--job: expected NAMESPACE:SELECTOR, such as ml:job-name=train, not '" + job + "'");
}

Result<Names> nodes_of_pods(ClusterReader& cluster, const std::string& job) {
  const auto colon = job.find(':');
  const std::string name_space = job.substr(0, colon);
  Names nodes;
  TRY_STATUS(
      cluster.list({"/api/v1/namespaces/" + name_space + "/pods", {{"labelSelector", job.substr(colon + 1)}}},
                   kObjectsInAPage, {"list pods in the namespace " + name_space, ""},
                   [&nodes](const kube::JsonObject& object) {
                     const kube::Pod pod = kube::parse_pod(object);
                     if (!pod.node.empty()) nodes.insert(pod.node);
                   }));
  return nodes;
}

Result<Names> labelled_nodes(ClusterReader& cluster, const std::string& selector) {
  Names nodes;
  TRY_STATUS(cluster.list(
      {"/api/v1/nodes", {{"labelSelector", selector}}}, kObjectsInAPage, {"list nodes", ""},
      [&nodes](const kube::JsonObject& object) { nodes.insert(kube::parse_node(object).meta.name); }));
  return nodes;
}

// Node names, sorted, each once; with both selections, the nodes in both. Reads from the API server.
// not_found: no node matches; malformed: `job` is not NAMESPACE:SELECTOR.
Result<std::vector<std::string>> select_nodes(const ClusterOptions& cluster, const NodeSelection& selection) {
  TRY_STATUS(check_job(selection.job));
  const auto reader = TRY(ClusterReader::open(cluster));
  Names nodes;
  if (!selection.job.empty()) nodes = TRY(nodes_of_pods(*reader, selection.job));
  if (!selection.node_label.empty()) {
    const Names labelled = TRY(labelled_nodes(*reader, selection.node_label));
    if (selection.job.empty())
      nodes = labelled;
    else
      std::erase_if(nodes, [&labelled](const std::string& node) { return !labelled.contains(node); });
  }
  if (nodes.empty()) return fail(Errc::not_found, "no node matches --job and --nodelabel");
  return std::vector<std::string>(nodes.begin(), nodes.end());
}

std::string joined_nodes(const NetworkTestOptions& options) {
  std::string nodes;
  for (const std::string& node : options.nodes)
    nodes += (nodes.empty() ? "" : ",") + node;
  return nodes;
}

std::string operation_of(const NetworkTestOptions& options) {
  if (options.kind == kPing) return "network.ping";
  if (options.kind == kNccl) return options.together ? "network.nccl_group" : "network.nccl_allreduce";
  if (options.kind != kRdma) return "network.bandwidth";
  return options.memory == kGpuMemory ? "network.rdma_gpu" : "network.rdma_bandwidth";
}

// Reserves the nodes, so that no other diagnostic runs there meanwhile.
api::OperationRequest request_of(const NetworkTestOptions& options) {
  api::OperationRequest request{operation_of(options), {}, options.deadline};
  for (const std::string& node : options.nodes) {
    Subject& subject = request.reservation.emplace_back();
    subject.kind = SubjectKind::peer;
    subject.key = node;
  }
  return request;
}

void print(const FinishedTest& test, const NetworkTestOptions& options) {
  if (options.format != OutputFormat::table) return print_json(tests_json({test}), options.format);
  const TableStyle style = terminal_style();
  const std::string_view out_of = options.memory == kGpuMemory ? "GPU memory" : "";
  const Observations found = test.result ? test.result->observations.all() : Observations{};
  const std::string table = render_bandwidth(found, out_of, style) + render_groups(found, style);
  std::cout << simulated_line(are_simulated({test}), style) << table << (table.empty() ? "" : "\n")
            << render_tests({test}, style);
}

// Command line for the agent of another node.
std::vector<std::string> words_of(const NetworkTestOptions& options) {
  std::vector<std::string> words{"network", "test", "--kind=" + options.kind,
                                 "--output=" + format_name(options.format)};
  if (options.memory != kHostMemory) words.push_back("--memory=" + options.memory);
  if (options.deadline) words.push_back("--deadline=" + format_duration(*options.deadline));
  if (options.together) words.emplace_back("--together");
  if (options.plan) words.emplace_back("--plan");
  if (!options.nodes.empty()) words.push_back("--nodes=" + joined_nodes(options));
  return words;
}

// Without --node the first of the selected nodes runs the diagnostic.
int test_in_cluster(NetworkTestOptions options) {
  if (!options.selection.is_empty()) {
    auto nodes = select_nodes(options.cluster, options.selection);
    if (!nodes) {
      const bool is_usage = nodes.error().code == Errc::not_found || nodes.error().code == Errc::malformed;
      const int exit_code = report(nodes.error());
      return is_usage ? kExitUsage : exit_code;
    }
    options.nodes = *std::move(nodes);
    if (options.place.node.empty()) options.place.node = options.nodes.front();
  }
  return run_on_node(options.cluster, options.place, words_of(options));
}

// An agent without peers or programs has no such tests, and answers that it does not know them.
std::string refusal_text(const Error& error) {
  const bool is_about_a_node = error.what.find("no agent is known") != std::string::npos;
  if (error.code != Errc::not_found || is_about_a_node) return error.what;
  return "This agent knows no other node, or lacks the programs of this test; a network test needs the "
         "agents of a cluster (docs/network-tests.md)";
}

int show_plan(const AgentClient& agent, const NetworkTestOptions& options) {
  std::map<std::string, std::string, std::less<>> query{{"kind", options.kind}};
  if (options.memory != kHostMemory) query["memory"] = options.memory;
  if (!options.nodes.empty()) query["nodes"] = joined_nodes(options);
  const auto answer = agent.get(api::kBandwidthPlanPath, query);
  const auto plan = answer ? api::parse_bandwidth_plan(*answer) : fail(answer.error());
  if (!plan) {
    tell(refusal_text(plan.error()));
    return exit_code_of(plan.error());
  }
  if (options.format == OutputFormat::table)
    std::cout << render_plan(*plan, terminal_style());
  else
    print_json(*answer, options.format);
  return 0;
}

// A requested diagnostic that this node does not support has proven nothing: unknown.
int exit_code_of_test(const FinishedTest& test) {
  const Health health = health_of(test);
  return exit_code_of(health == Health::unsupported ? Health::unknown : health);
}

int test_once(TestFollower& follower, const NetworkTestOptions& options) {
  const auto test = follower.run(request_of(options));
  if (!test) {
    tell(follower.has_begun() ? test.error().what : refusal_text(test.error()));
    return follower.has_begun() ? exit_code_of(Health::unknown) : exit_code_of(test.error());
  }
  print(*test, options);
  return exit_code_of_test(*test);
}

// The last complete run decides the exit code. Stops when the agent refuses to start one.
int test_again_and_again(const AgentClient& agent, const NetworkTestOptions& options) {
  TestFollower follower(agent);
  int code = test_once(follower, options);
  while (!follower.is_interrupted() && follower.has_begun()) {
    std::cout << std::endl;
    follower.pause(kBetweenTests);
    if (follower.is_interrupted()) break;
    const int next = test_once(follower, options);
    if (!follower.is_interrupted()) code = next;
  }
  return code;
}

int test_network(const NetworkTestOptions& options) {
  if (!options.place.node.empty() || !options.selection.is_empty()) return test_in_cluster(options);
  const auto target = agent_target(options.socket);
  if (!target) return report(target.error());
  const AgentClient agent(*target);
  if (options.plan) return show_plan(agent, options);
  if (options.watch) return test_again_and_again(agent, options);
  TestFollower follower(agent);
  return test_once(follower, options);
}

// CLI11 can exclude options by name, not by value.
std::string why_not(const NetworkTestOptions& options) {
  if (options.plan && options.kind == kPing)
    return "--plan: not available with --kind ping; leave --kind out";
  if (options.memory != kHostMemory && options.kind != kRdma)
    return "--memory gpu: needs RDMA; add --kind rdma";
  return options.together && options.kind != kNccl ? "--together: needs NCCL; add --kind nccl" : "";
}

}  // namespace

void add_network(CLI::App& app, int& exit_code) {
  auto* network = app.add_subcommand("network", "Find the slow or dead node, interface or path");
  network->require_subcommand(1);
  auto options = std::make_shared<NetworkTestOptions>();
  auto* verb = network->add_subcommand("test", "Measure bandwidth or latency between nodes");
  verb->add_option("--kind", options->kind, "tcp, rdma, nccl: bandwidth of pairs; ping: reachability")
      ->check(CLI::IsMember({kTcp, kRdma, kNccl, kPing}))
      ->capture_default_str();
  verb->add_option("--memory", options->memory,
                   "With rdma: transfer from host memory, or from the GPU beside each port")
      ->check(CLI::IsMember({kHostMemory, kGpuMemory}))
      ->capture_default_str();
  verb->add_option("--nodes", options->nodes,
                   "Only these nodes: two or more for pairs; with ping, the targets of this node")
      ->delimiter(',')
      ->type_name("NAME,...");
  verb->add_option("--job", options->selection.job,
                   "Nodes where these pods run or ran; not while they hold GPUs")
      ->type_name("NAMESPACE:SELECTOR")
      ->excludes("--nodes");
  verb->add_option("--nodelabel", options->selection.node_label, "Nodes that this label selector matches")
      ->type_name("SELECTOR")
      ->excludes("--nodes");
  add_node_option(*verb, options->place.node);
  add_namespace_option(*verb, options->place.name_space);
  add_cluster_options(*verb, options->cluster);
  add_duration_option(*verb, "--deadline", options->deadline, "Stop the diagnostic after this time");
  auto* together = verb->add_flag("--together", options->together,
                                  "With nccl: one all-reduce over many nodes, instead of pairs");
  verb->add_flag("--plan", options->plan, "Print the planned pairs and the duration; measure nothing")
      ->excludes(together);
  verb->add_flag("--watch", options->watch, "Repeat until Ctrl-C")->excludes("--plan");
  add_format_option(*verb, options->format);
  add_socket_option(*verb, options->socket);
  // In a pod, --watch would continue after the terminal is closed.
  for (const char* other : {"--node", "--job", "--nodelabel"})
    verb->get_option(other)->excludes("--socket")->excludes("--watch");
  verb->footer(
      "Three rounds of pairs locate what slow pairs have in common. They saturate the\n"
      "links: do not run them beside jobs. Ctrl-C stops them. With rdma every node\n"
      "needs perftest; with --memory gpu, perftest built with CUDA, and idle GPUs. With\n"
      "nccl every node needs idle GPUs and libnccl.so.2; AMD GPUs are experimental.\n"
      "In a matrix `.` is a pair not measured, `?` a pair that could not be measured,\n"
      "`!` a pair whose GPUs computed a wrong sum.\n"
      "Examples:\n  autopilot network test\n  autopilot network test --nodes gpu-1,gpu-2,gpu-7\n"
      "  autopilot network test --plan\n  autopilot network test --watch --nodes gpu-1,gpu-7\n"
      "  autopilot network test --nodelabel rack=r7 --node gpu-1\n"
      "  autopilot network test --kind rdma\n"
      "  autopilot network test --kind rdma --memory gpu\n"
      "  autopilot network test --kind nccl --nodes gpu-1,gpu-2,gpu-7\n"
      "  autopilot network test --kind nccl --together\n"
      "  autopilot network test --kind ping -o json");
  verb->callback([options, &exit_code] {
    const std::string refusal = why_not(*options);
    exit_code = refusal.empty() ? test_network(*options) : report_usage(refusal);
  });
}

}  // namespace autopilot::cli
