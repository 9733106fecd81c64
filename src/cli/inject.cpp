// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <optional>

#include "api/v1.hpp"
#include "cli/agent_client.hpp"
#include "cli/cli.hpp"
#include "cli/duration_option.hpp"
#include "cli/output/terminal.hpp"
#include "cli/settings.hpp"
#include "cli/verbs.hpp"

namespace autopilot::cli {
namespace {

// The agent itself waits up to 20 s for the machine to be changed.
constexpr Duration kAgentPatience = std::chrono::seconds{30};

struct InjectOptions {
  std::string fault;
  std::string subject = "host";
  std::optional<double> magnitude;
  std::optional<Duration> duration;
  std::string socket;
};

Result<api::InjectRequest> request_of(const InjectOptions& options) {
  api::InjectRequest request;
  request.fault = options.fault;
  const auto subject = parse_subject(options.subject);
  if (!subject)
    return fail(Errc::malformed,
                "--subject: expected kind/key such as gpu/0000:3b:00.0 or mount//data, not '" +
                    options.subject + "'");
  request.subject = *subject;
  request.magnitude = options.magnitude;
  request.duration = options.duration;
  return request;
}

int inject(const InjectOptions& options) {
  const auto request = request_of(options);
  if (!request) {
    (void)report(request.error());
    return kExitUsage;
  }
  const auto target = agent_target(options.socket);
  if (!target) return report(target.error());
  const auto answer = AgentClient(*target).send("POST", "/v1/inject", api::to_json(*request), kAgentPatience);
  if (!answer) return report(answer.error());
  const bool is_chosen_there = options.subject == "host";
  std::cout << options.fault << " injected"
            << (is_chosen_there ? "; autopilot events shows where" : " on " + printable(options.subject))
            << "\n";
  return kExitHealthy;
}

}  // namespace

void add_inject(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<InjectOptions>();
  auto* verb =
      app.add_subcommand("inject", "Make a fault appear on the simulated machine that the agent watches");
  verb->add_option("FAULT", options->fault, "A fault of the simulator: row_remap_pending, xid, ...")
      ->required();
  verb->add_option("--subject", options->subject, "What it befalls: gpu/0000:3b:00.0, mount//data, ...")
      ->type_name("KIND/KEY");
  verb->add_option("--magnitude", options->magnitude, "How strong: a code, a number of errors, a share")
      ->type_name("NUMBER");
  add_duration_option(*verb, "--for", options->duration, "Take it back after this time");
  add_socket_option(*verb, options->socket);
  verb->footer(
      "On a real machine this is refused unless the configuration says 'inject: true'.\n"
      "Examples:\n  autopilot inject row_remap_pending --subject gpu/0000:19:00.0\n"
      "  autopilot inject xid --magnitude 79 --for 30s");
  verb->callback([options, &exit_code] { exit_code = inject(*options); });
}

}  // namespace autopilot::cli
