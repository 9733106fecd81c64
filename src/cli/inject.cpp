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

// The agent waits up to 20 s for the simulated machine to change.
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
            << (is_chosen_there ? "; show the subject with: autopilot events"
                                : " on " + printable(options.subject))
            << "\n";
  return kExitHealthy;
}

}  // namespace

void add_inject(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<InjectOptions>();
  auto* verb = app.add_subcommand("inject", "Inject a fault into the simulated machine of the agent");
  verb->add_option("FAULT", options->fault, "Fault of the simulator: row_remap_pending, xid, ...")
      ->required();
  verb->add_option("--subject", options->subject, "Faulty subject: gpu/0000:3b:00.0, mount//data, ...")
      ->type_name("KIND/KEY");
  verb->add_option("--magnitude", options->magnitude,
                   "Size of the fault: a code, a number of errors, a fraction")
      ->type_name("NUMBER");
  add_duration_option(*verb, "--for", options->duration, "Remove the fault after this time");
  add_socket_option(*verb, options->socket);
  verb->footer(
      "A real machine refuses faults unless its configuration has 'inject: true'.\n"
      "Examples:\n  autopilot inject row_remap_pending --subject gpu/0000:19:00.0\n"
      "  autopilot inject xid --magnitude 79 --for 30s");
  verb->callback([options, &exit_code] { exit_code = inject(*options); });
}

}  // namespace autopilot::cli
