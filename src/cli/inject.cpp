// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "api/v1.hpp"
#include "cli/agent_client.hpp"
#include "cli/cli.hpp"
#include "cli/fault_list.hpp"
#include "cli/output/print.hpp"
#include "cli/output/table.hpp"
#include "cli/settings.hpp"
#include "cli/simulation.hpp"
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
  bool list = false;
  OutputFormat format = OutputFormat::table;
};

// The faults do not depend on an agent.
int list_faults(OutputFormat format) {
  const auto text = simulated_faults_json();
  if (!text) return report(text.error());
  if (format != OutputFormat::table) {
    print_json(*text, format);
    return kExitHealthy;
  }
  const auto faults = parse_fault_list(*text);
  if (!faults) return report(faults.error());
  std::cout << render_faults(*faults);
  return kExitHealthy;
}

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
  if (options.list) return list_faults(options.format);
  if (options.fault.empty())
    return report_usage("FAULT: name a fault; list the faults with: autopilot inject --list");
  const auto request = request_of(options);
  if (!request) return report_usage(request.error().what);
  const auto target = agent_target(options.socket);
  if (!target) return report(target.error());
  const auto answer = AgentClient(*target).send("POST", "/v1/inject", api::to_json(*request), kAgentPatience);
  if (!answer && answer.error().code == Errc::malformed) return report_usage(answer.error().what);
  if (!answer) return report(answer.error());
  if (options.format != OutputFormat::table) {
    print_json(*answer, options.format);
    return kExitHealthy;
  }
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
  verb->add_option("FAULT", options->fault, "Fault of the simulator: row_remap_pending, xid, ...");
  verb->add_flag("-l,--list", options->list,
                 "List the faults with subject, magnitude and an example; inject none");
  verb->add_option("--subject", options->subject, "Faulty subject: gpu/0000:3b:00.0, mount//data, ...")
      ->type_name("KIND/KEY");
  verb->add_option("--magnitude", options->magnitude,
                   "Size of the fault: a code, a number of errors, a fraction")
      ->type_name("NUMBER");
  add_duration_option(*verb, "--for", options->duration, "Remove the fault after this time");
  add_format_option(*verb, options->format);
  add_socket_option(*verb, options->socket);
  verb->footer(
      "A real machine refuses faults unless its configuration has 'inject: true'.\n"
      "Examples:\n  autopilot inject --list\n  autopilot inject row_remap_pending --subject "
      "gpu/0000:19:00.0\n"
      "  autopilot inject xid --magnitude 79 --for 30s");
  verb->callback([options, &exit_code] { exit_code = inject(*options); });
}

}  // namespace autopilot::cli
