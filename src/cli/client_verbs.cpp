// SPDX-License-Identifier: Apache-2.0
// Verbs that send requests to the running agent: events, ack, inject.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <signal.h>
#include <string>

#include "api/v1.hpp"
#include "cli/agent_client.hpp"
#include "cli/cli.hpp"
#include "cli/interrupt.hpp"
#include "cli/output/print.hpp"
#include "cli/settings.hpp"
#include "cli/verbs.hpp"
#include "host/clock/system_clock.hpp"
#include "net/http_client.hpp"
#include "store/journal.hpp"

namespace autopilot::cli {

namespace {

struct EventsOptions {
  std::string socket;
  std::string since;
  bool follow = false;
  OutputFormat format = OutputFormat::table;
};

// Text: a duration before now ("10m"), or a time.
Result<std::optional<WallTime>> since_of(const std::string& text) {
  if (text.empty()) return std::optional<WallTime>{};
  if (const auto ago = parse_duration(text))
    return std::optional<WallTime>{host::SystemClock{}.now().wall -
                                   std::chrono::duration_cast<Duration>(*ago)};
  if (const auto time = parse_time(text)) return std::optional<WallTime>{*time};
  return fail(
      Errc::malformed,
      "--since: expected a duration such as 30m or a time such as 2026-11-21T03:04:05Z, not '" + text + "'");
}

void print_event(const Event& event, OutputFormat format) {
  if (format != OutputFormat::table) {
    print_json(api::to_json(event), format);
    if (format == OutputFormat::yaml) std::cout << "---\n";
    std::cout << std::flush;
    return;
  }
  std::string line = format_time(event.time) + "  " + std::string(to_string(event.kind));
  if (!event.check.empty()) line += "  " + event.check;
  if (event.subject.kind != SubjectKind::host) line += "  " + to_string(event.subject);
  if (!event.message.empty()) line += "  " + event.message;
  if (event.injected) line += " [injected]";
  if (find_attribute(event.details, "fromUser") != nullptr) line += " [written by user space]";
  if (event.simulated) line += " [SIMULATED]";
  if (!event.durable) line += " [not durable]";
  std::cout << printable(line) << "\n" << std::flush;
}

// Used while no agent runs.
Result<std::vector<Event>> from_journal(std::optional<WallTime> since) {
  const auto settings = TRY(load_settings(""));
  const auto journal = TRY(store::Journal::open_read_only(settings.journal_path()));
  store::EventQuery query;
  query.since = since;
  return journal->events(query);
}

Result<std::vector<Event>> past_events(const AgentClient& agent, std::optional<WallTime> since) {
  if (!agent.answers()) return from_journal(since);
  std::map<std::string, std::string, std::less<>> query;
  if (since) query["since"] = format_time(*since);
  const auto body = TRY(agent.get("/v1/events", std::move(query)));
  return api::parse_events(body);
}

int follow(const AgentClient& agent, std::uint64_t last_id, OutputFormat format) {
  const Interrupt interrupt;
  net::HttpRequest request;
  request.method = "GET";
  request.path = "/v1/events";
  net::FollowOptions options;
  if (last_id > 0) options.last_event_id = std::to_string(last_id);
  const auto on_event = [format](const net::ServerEvent& wire) {
    if (const auto event = api::parse_event(wire.data)) print_event(*event, format);
    return true;
  };
  const auto ended = net::follow(agent.target(), request, options, on_event, interrupt.flag());
  return ended ? kExitHealthy : report(ended.error());
}

int show(const EventsOptions& options) {
  const auto since = since_of(options.since);
  if (!since) return report_usage(since.error().what);
  const auto target = agent_target(options.socket);
  if (!target) return report(target.error());
  const AgentClient agent(*target);
  const auto events = past_events(agent, *since);
  if (!events) return report(events.error());
  for (const Event& event : *events)
    print_event(event, options.format);
  if (!options.follow) return kExitHealthy;
  return follow(agent, events->empty() ? 0 : events->back().id, options.format);
}

}  // namespace

void add_events(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<EventsOptions>();
  auto* verb = app.add_subcommand("events", "Show the events of this machine");
  verb->add_option("--since", options->since, "Show only newer events: 30m, 12h, 7d or a time")
      ->type_name("WHEN");
  verb->add_flag("-f,--follow", options->follow, "Keep printing new events until Ctrl-C");
  add_format_option(*verb, options->format);
  add_socket_option(*verb, options->socket);
  verb->footer("Examples:\n  autopilot events --since 1h\n  autopilot events --follow -o json");
  verb->callback([options, &exit_code] { exit_code = show(*options); });
}

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
      "Exit status: 0 acknowledged, 64 usage, 70 no such open incident or no agent.\n"
      "Examples:\n  autopilot ack 0123abcd-12 --reason 'disk replaced, ticket 4711'\n"
      "  autopilot ack 0123abcd-12 -r 'known, next window' -o json");
  verb->callback([options, &exit_code] { exit_code = acknowledge(*options); });
}

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
  if (!request) return report_usage(request.error().what);
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
