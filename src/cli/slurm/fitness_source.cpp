// SPDX-License-Identifier: Apache-2.0
#include "cli/slurm/fitness_source.hpp"

#include <algorithm>
#include <poll.h>
#include <span>
#include <utility>
#include <vector>

#include "api/v1.hpp"
#include "cli/agent_client.hpp"
#include "cli/cli.hpp"
#include "cli/settings.hpp"
#include "core/parse.hpp"
#include "core/result.hpp"
#include "host/files/fd.hpp"
#include "host/process/child.hpp"
#include "host/process/child_runner.hpp"

namespace autopilot::cli {
namespace {

constexpr Duration kReadyPoll = std::chrono::milliseconds{500};
constexpr Duration kAgentAnswer = std::chrono::seconds{10};
// A node with 16 GPUs and all observations is below 1 MiB.
constexpr host::RunLimits kCheckLimits{.output_bytes = std::size_t{8} << 20,
                                       .grace = std::chrono::seconds{1},
                                       .patience = std::chrono::seconds{1}};

Duration left_until(MonoTime until) {
  return std::max(until - host::mono_now(), Duration{0});
}

// At least the time of one answer, so that a late question is still asked.
Duration answer_time(MonoTime until) {
  constexpr Duration least = std::chrono::seconds{1};
  return std::clamp(left_until(until), least, kAgentAnswer);
}

void wait_ready(const AgentClient& agent, MonoTime until) {
  while (!agent.is_ready() && left_until(until) > kReadyPoll)
    (void)host::poll_until(std::span<pollfd>(), host::mono_now() + kReadyPoll);
}

// Names of checks that did not run again; their last results count.
std::vector<std::string> run_again(const AgentClient& agent, const NodeSnapshot& node, MonoTime until) {
  std::vector<std::string> not_run;
  for (const CheckResult& result : node.results) {
    if (result.health == Health::unsupported) continue;
    const bool has_time = left_until(until) > Duration{0};
    if (!has_time || !agent.send("POST", "/v1/checks/" + result.check, {}, answer_time(until)))
      not_run.push_back(result.check);
  }
  return not_run;
}

Result<NodeFitness> of_agent(const AgentClient& agent, const FitnessSource& source, MonoTime until) {
  wait_ready(agent, until);
  NodeSnapshot node = TRY(agent.node(answer_time(until)));
  std::vector<std::string> not_run;
  if (source.runs_checks) {
    not_run = run_again(agent, node, until);
    node = TRY(agent.node(answer_time(until)));
  }
  NodeFitness fitness = fitness_of(node);
  if (!not_run.empty())
    fitness.why += "; " + std::to_string(not_run.size()) +
                   " checks did not run again in time, the first is " + not_run.front();
  return fitness;
}

// A driver that hangs ends with the child, and not with this process.
Result<NodeFitness> of_own_checks(const FitnessSource& source, MonoTime until) {
  const MachineChoice& machine = source.machine;
  host::Command command{.program = {},
                        .arguments = {"check", "--no-agent", "-o", "json"},
                        .environment = host::own_environment()};
  command.program = TRY(host::own_executable());
  if (!source.config_file.empty())
    command.arguments.insert(command.arguments.end(), {"--config", source.config_file});
  if (!machine.root.empty()) command.arguments.insert(command.arguments.end(), {"--root", machine.root});
  if (!machine.simulate.empty())
    command.arguments.insert(command.arguments.end(), {"--simulate", machine.simulate});
  host::ChildRunner runner;
  const host::ChildReport report = TRY(runner.run(command, until, kCheckLimits));
  if (report.end == host::ChildEnd::timed_out) return fail(Errc::timed_out, "the checks did not end in time");
  if (report.end != host::ChildEnd::exited || report.status.code > kExitUnknown)
    return fail(Errc::internal, "the checks failed: " + to_printable(trim(report.errors), 300));
  NodeFitness fitness = fitness_of(TRY(api::parse_node(report.output)));
  // A recording is not simulated either, and changes nothing in Slurm.
  fitness.is_simulated = fitness.is_simulated || !machine.is_this_machine();
  return fitness;
}

NodeFitness or_unknown(Result<NodeFitness> fitness) {
  return fitness ? *std::move(fitness) : unknown_fitness(fitness.error().what);
}

Result<NodeFitness> ask(const FitnessSource& source, MonoTime until) {
  if (!source.machine.is_this_machine()) return of_own_checks(source, until);
  const AgentClient agent(TRY(agent_target(source.socket, source.config_file)));
  if (agent.answers()) return of_agent(agent, source, until);
  const std::string problem = "no agent answers at " + net::to_string(agent.target());
  if (!source.socket.empty()) return fail(Errc::unavailable, problem);
  NodeFitness fitness = or_unknown(of_own_checks(source, until));
  fitness.why += "; " + problem + ", so the checks ran without it";
  return fitness;
}

}  // namespace

NodeFitness ask_fitness(const FitnessSource& source, MonoTime until) {
  return or_unknown(ask(source, until));
}

}  // namespace autopilot::cli
