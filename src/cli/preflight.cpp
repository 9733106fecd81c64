// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "cli/cli.hpp"
#include "cli/gate.hpp"
#include "cli/interrupt.hpp"
#include "cli/output/print.hpp"
#include "cli/output/table.hpp"
#include "cli/settings.hpp"
#include "cli/verbs.hpp"
#include "core/parse.hpp"
#include "host/files/fd.hpp"

namespace autopilot::cli {
namespace {

using std::chrono::seconds;

// Deadline of a container that sets none: how long it waits for an agent that does not answer.
constexpr Duration kDeadline = seconds{60};
constexpr Duration kPause = seconds{1};
constexpr std::size_t kLongestToken = std::size_t{64} << 10;
constexpr std::size_t kLongestMessage = 2048;  // the kubelet keeps 4096 bytes

struct PreflightOptions {
  std::string agent;
  std::string socket;
  std::string node;
  std::string authority_file;
  std::string token_file = "/var/run/autopilot/preflight/token";
  std::string tests;
  std::optional<Duration> deadline;
  std::optional<Duration> hold;
  std::string when_unknown;
  std::string termination_log = "/dev/termination-log";
};

// The request of the container or user, from flags and environment.
struct Wish {
  std::optional<GateTarget> target;  // nullopt: no agent is configured
  std::string token_file;
  std::string node;
  std::string pod;  // "team-a/train-0"; empty: not set
  api::PreflightRequest request;
  bool starts_when_unknown = true;
  Duration hold = seconds{300};
  std::string termination_log;
};

Result<std::string> read_token(const std::string& path) {
  std::ifstream file(path);
  std::string text(kLongestToken + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  const std::string token(trim(text));
  if (token.empty() || text.size() > kLongestToken)
    return fail(Errc::malformed, path +
                                     ": expected the token of the pod for the audience autopilot; name "
                                     "another file with --token-file");
  return token;
}

// The flag; if empty, the variable.
std::string flag_or(const std::string& flag, const std::map<std::string, std::string>& variables,
                    const std::string& name) {
  return flag.empty() ? variable(variables, name) : flag;
}

Result<std::optional<Duration>> deadline_of(const PreflightOptions& options,
                                            const std::map<std::string, std::string>& variables) {
  const std::string text = variable(variables, "AUTOPILOT_DEADLINE");
  if (options.deadline || text.empty()) return options.deadline;
  const auto deadline = parse_duration(text);
  if (!deadline)
    return fail(Errc::malformed,
                "AUTOPILOT_DEADLINE: expected a duration such as 60s, not '" + printable(text) + "'");
  return deadline;
}

Result<std::optional<GateTarget>> target_of(const PreflightOptions& options, const std::string& node,
                                            const std::map<std::string, std::string>& variables) {
  if (!options.socket.empty()) {
    GateTarget target;
    target.socket = TRY(net::parse_target(options.socket));
    if (target.socket.socket_path.empty())
      return fail(Errc::malformed,
                  "--socket: expected the path of a socket, not '" + printable(options.socket) + "'");
    return target;
  }
  const std::string url = flag_or(options.agent, variables, "AUTOPILOT_AGENT_URL");
  if (url.empty()) return std::nullopt;
  if (node.empty())
    return fail(Errc::malformed,
                "AUTOPILOT_NODE is not set; set it to the node name in the agent's certificate");
  std::string authority = variable(variables, "AUTOPILOT_AUTHORITY");
  if (!options.authority_file.empty())
    authority = TRY(read_settings_text(options.authority_file, "the authority of the agents"));
  if (authority.empty())
    return fail(Errc::malformed,
                "AUTOPILOT_AUTHORITY is not set; set it to the CA of the agents' certificates, in PEM");
  return TRY(gate_target(url, node, authority));
}

Result<Wish> wish_of(const PreflightOptions& options) {
  const auto variables = environment();
  Wish wish;
  wish.node = flag_or(options.node, variables, "AUTOPILOT_NODE");
  wish.target = TRY(target_of(options, wish.node, variables));
  wish.token_file = options.token_file;
  const std::string pod = variable(variables, "AUTOPILOT_POD");
  if (!pod.empty()) wish.pod = variable(variables, "AUTOPILOT_NAMESPACE") + "/" + pod;
  wish.request.tests = parse_test_list(flag_or(options.tests, variables, "AUTOPILOT_TESTS"));
  wish.request.deadline = TRY(deadline_of(options, variables));
  TRY(api::parse_preflight_request(api::to_json(wish.request)));
  const std::string unknown = flag_or(options.when_unknown, variables, "AUTOPILOT_WHEN_UNKNOWN");
  if (!unknown.empty() && unknown != "start" && unknown != "stop")
    return fail(Errc::malformed,
                "AUTOPILOT_WHEN_UNKNOWN: expected start or stop, not '" + printable(unknown) + "'");
  wish.starts_when_unknown = unknown != "stop";
  wish.hold = options.hold.value_or(wish.hold);
  wish.termination_log = options.termination_log;
  return wish;
}

void say(const std::string& line) {
  std::cout << printable(line) << std::endl;
}

class Preflight {
 public:
  explicit Preflight(Wish wish) : wish_(std::move(wish)) {}

  int run() {
    if (!wish_.target) return without_agent("no agent is configured (AUTOPILOT_AGENT_URL is not set)");
    say("asking the agent of node " + (wish_.node.empty() ? "this machine" : wish_.node) + " about " +
        (wish_.pod.empty() ? "its GPUs" : "the GPUs of pod " + wish_.pod));
    const GateTarget& target = *wish_.target;
    until_ = host::mono_now() + wish_.request.deadline.value_or(kDeadline);
    for (;;) {
      const auto answer = ask(target);
      if (!answer) return report(answer.error());
      const std::optional<api::PreflightResult>& result = answer->result;
      if (result) return take(*result);
      if (interrupt_.requested()) return leave("stopped before the GPUs were tested", kExitUnknown);
      if (!answer->may_come || host::mono_now() + kPause >= until_) return without_agent(answer->why);
      if (std::exchange(said_, answer->why) != answer->why) say("waiting for the agent: " + answer->why);
      interrupt_.wait(kPause);
    }
  }

 private:
  // After a restart of the agent the request carries the remaining time.
  Result<GateAnswer> ask(const GateTarget& target) {
    const std::string token = target.socket.socket_path.empty() ? TRY(read_token(wish_.token_file)) : "";
    api::PreflightRequest request = wish_.request;
    const Duration left = std::max<Duration>(seconds{1}, until_ - host::mono_now());
    if (request.deadline) request.deadline = left;
    const Duration patience =
        (request.deadline ? left : api::PreflightRequest::kLongestDeadline) + kAnswerGrace;
    return ask_gate(
        target, token, request, patience, [this](const api::PreflightProgress& progress) { tell(progress); },
        interrupt_.flag());
  }

  void tell(const api::PreflightProgress& progress) {
    if (is_news(progress_, progress)) say(line_of(progress));
    progress_ = progress;
    if (progress.wait) until_ = std::max(until_, host::mono_now() + *progress.wait);
  }

  int take(const api::PreflightResult& result) {
    const std::string line = line_of(result);
    say(line);
    say("answered after " +
        format_duration(std::chrono::duration_cast<std::chrono::milliseconds>(host::mono_now() - begun_)));
    if (!result.report.empty())
      say("report: kubectl get hcr -A --field-selector metadata.name=" + result.report);
    if (result.may_start) return kExitHealthy;
    if (result.outcome != api::PreflightOutcome::failed) return leave(line, kExitUnknown);
    return hold(line);
  }

  // A pod that is moved ends this container; if it is not moved, the hold time ends the wait.
  int hold(const std::string& line) {
    say("waiting at most " + format_duration(wish_.hold) + " to be moved to another node");
    const MonoTime until = host::mono_now() + wish_.hold;
    for (Duration left = wish_.hold; left > Duration{0} && !interrupt_.requested();
         left = until - host::mono_now())
      interrupt_.wait(std::min<Duration>(left, kDeadline));
    return leave(line, kExitFailed);
  }

  // A container cannot check GPUs by itself.
  int without_agent(const std::string& why) {
    const std::string what =
        (wish_.node.empty() ? "" : "node " + wish_.node + ": ") + "the GPUs could not be tested: " + why;
    const std::string line =
        what + (wish_.starts_when_unknown ? "; the GPUs are unproven, and the job starts"
                                          : "; the GPUs are unproven, and the job does not start");
    say(line);
    return wish_.starts_when_unknown ? kExitHealthy : leave(line, kExitUnknown);
  }

  // The kubelet reads this file. It does not exist outside a container, and is not created.
  [[nodiscard]] int leave(const std::string& line, int exit_code) const {
    std::fstream log(wish_.termination_log, std::ios::in | std::ios::out);
    if (log) log << printable(line.substr(0, kLongestMessage)) << "\n";
    cli::tell(line);
    return exit_code;
  }

  const Wish wish_;
  const Interrupt interrupt_;
  const MonoTime begun_ = host::mono_now();
  MonoTime until_{};  // end of the wait for an agent that does not answer
  std::string said_;
  std::optional<api::PreflightProgress> progress_;
};

int preflight(const PreflightOptions& options) {
  auto wish = wish_of(options);
  if (!wish) return report(wish.error());
  return Preflight(*std::move(wish)).run();
}

}  // namespace

void add_preflight(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<PreflightOptions>();
  auto* verb = app.add_subcommand("preflight", "Ask the node's agent whether a pod may start on its GPUs");
  auto* socket = verb->add_option("--socket", options->socket,
                                  "Agent's Unix socket; asks about all GPUs of this machine")
                     ->type_name("PATH");
  verb->add_option("--agent", options->agent, "HTTPS address of the agent (AUTOPILOT_AGENT_URL)")
      ->type_name("URL")
      ->excludes(socket);
  verb->add_option("--node", options->node, "Node name in the agent's certificate (AUTOPILOT_NODE)")
      ->type_name("NAME");
  verb->add_option("--authority", options->authority_file,
                   "CA of the agents, PEM file (AUTOPILOT_AUTHORITY: the text)")
      ->type_name("FILE");
  verb->add_option("--token-file", options->token_file, "Token of the pod")
      ->type_name("FILE")
      ->capture_default_str();
  verb->add_option("--tests", options->tests,
                   "Diagnostics, comma-separated (AUTOPILOT_TESTS; default: those of the node)")
      ->type_name("IDS");
  add_duration_option(*verb, "--deadline", options->deadline,
                      "Deadline of the diagnostics (AUTOPILOT_DEADLINE)");
  add_duration_option(*verb, "--hold", options->hold,
                      "After a failure wait this long to be moved (default: 5m)");
  verb->add_option("--when-unknown", options->when_unknown,
                   "Decision when no agent answers: start or stop (AUTOPILOT_WHEN_UNKNOWN)")
      ->type_name("WHAT")
      ->check(CLI::IsMember({"start", "stop"}));
  verb->add_option("--termination-log", options->termination_log,
                   "Write the failure reason here if the file exists")
      ->type_name("FILE")
      ->capture_default_str();
  verb->footer(
      "Autopilot's init container runs this verb, configured by its environment. The\n"
      "verb waits for an agent that is restarting.\n"
      "Examples:\n  autopilot preflight\n  autopilot preflight --socket /run/autopilot/agent.sock --hold 0s\n"
      "  autopilot preflight --tests gpu.pcie_bandwidth --deadline 2m");
  verb->callback([options, &exit_code] { exit_code = preflight(*options); });
}

}  // namespace autopilot::cli
