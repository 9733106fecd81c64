// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>

#include "api/v1.hpp"
#include "cli/agent_client.hpp"
#include "cli/cli.hpp"
#include "cli/output/print.hpp"
#include "cli/settings.hpp"
#include "cli/verbs.hpp"

namespace autopilot::cli {
namespace {

struct AckOptions {
  std::string incident;
  std::string reason;
  std::string socket;
  OutputFormat format = OutputFormat::table;
};

// The id becomes part of a request path.
bool is_incident_id(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-';
  });
}

std::string sentence_of(const Incident& incident) {
  const std::string text =
      incident.id + " acknowledged by " + (incident.acknowledged ? incident.acknowledged->by : "you");
  if (incident.state == IncidentState::closed) return text + "; it is closed";
  return text + "; it remains " + std::string(to_string(incident.state)) + " until its findings clear";
}

int acknowledge(const AckOptions& options) {
  if (!is_incident_id(options.incident))
    return report_usage("INCIDENT: expected an id such as 0123abcd-12, listed by: autopilot status");
  const std::string body = api::to_json(api::AcknowledgeRequest{options.reason});
  if (const auto request = api::parse_acknowledge_request(body); !request)
    return report_usage("--" + request.error().what);
  const auto target = agent_target(options.socket);
  if (!target) return report(target.error());
  const auto answer = AgentClient(*target).send("POST", "/v1/incidents/" + options.incident + "/ack", body);
  if (!answer) return report(answer.error());
  if (options.format != OutputFormat::table) {
    print_json(*answer, options.format);
    return kExitHealthy;
  }
  const auto incident = api::parse_incident(*answer);
  if (!incident) return report(incident.error());
  std::cout << printable(sentence_of(*incident)) << "\n";
  return kExitHealthy;
}

}  // namespace

void add_ack(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<AckOptions>();
  auto* verb = app.add_subcommand("ack", "Acknowledge an incident, with a note");
  verb->add_option("INCIDENT", options->incident, "Incident id, from: autopilot status")->required();
  verb->add_option("-r,--reason", options->reason, "Note: what is being done, or why nothing is needed")
      ->type_name("TEXT")
      ->required();
  add_format_option(*verb, options->format);
  add_socket_option(*verb, options->socket);
  verb->footer(
      "The journal records user, time and note. Findings that an acknowledgement\n"
      "clears are cleared; other findings remain until their clear condition holds.\n"
      "Works only over the agent's Unix socket.\n"
      "Examples:\n  autopilot ack 0123abcd-12 --reason 'disk replaced, ticket 4711'\n"
      "  autopilot ack 0123abcd-12 -r 'known, next window' -o json");
  verb->callback([options, &exit_code] { exit_code = acknowledge(*options); });
}

}  // namespace autopilot::cli
