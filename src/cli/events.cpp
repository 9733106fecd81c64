// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "api/v1.hpp"
#include "cli/agent_client.hpp"
#include "cli/cli.hpp"
#include "cli/interrupt.hpp"
#include "cli/output/format.hpp"
#include "cli/output/terminal.hpp"
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
  if (!since) {
    (void)report(since.error());
    return kExitUsage;
  }
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

}  // namespace autopilot::cli
