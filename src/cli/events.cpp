// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/v1.hpp"
#include "catalog/catalog.hpp"
#include "cli/agent_client.hpp"
#include "cli/cli.hpp"
#include "cli/event_filter.hpp"
#include "cli/interrupt.hpp"
#include "cli/machine.hpp"
#include "cli/moment.hpp"
#include "cli/output/print.hpp"
#include "cli/settings.hpp"
#include "cli/state_files.hpp"
#include "cli/verbs.hpp"
#include "host/clock/system_clock.hpp"
#include "net/http_client.hpp"
#include "store/journal.hpp"

namespace autopilot::cli {
namespace {

struct EventsOptions {
  std::string socket;
  std::string since;
  std::string until;
  EventFilter filter;
  bool follow = false;
  OutputFormat format = OutputFormat::table;
};

class EventPrinter {
 public:
  explicit EventPrinter(OutputFormat format) : format_(format) {}

  void print(const Event& event) {
    if (format_ == OutputFormat::table) {
      std::cout << lines_.line_of(event) << std::flush;
      return;
    }
    print_json(api::to_json(event), format_);
    if (format_ == OutputFormat::yaml) std::cout << "---\n";
    std::cout << std::flush;
  }

 private:
  OutputFormat format_;
  EventLines lines_;
};

// Used while no agent runs.
Result<std::vector<Event>> from_journal(std::optional<WallTime> since) {
  const auto settings = TRY(load_settings(""));
  const StateFile file = journal_to_read(settings);
  if (!file.note.empty()) tell(file.note);
  const auto journal = TRY(store::Journal::open_read_only(file.path));
  store::EventQuery query;
  query.since = since;
  query.limit = store::Journal::kMaxRows;
  return journal->events(query);
}

Result<std::vector<Event>> past_events(const AgentClient& agent, std::optional<WallTime> since) {
  if (!agent.answers()) return from_journal(since);
  std::map<std::string, std::string, std::less<>> query;
  if (since) query["since"] = format_time(*since);
  const auto body = TRY(agent.get("/v1/events", std::move(query)));
  return api::parse_events(body);
}

int follow(const AgentClient& agent, std::uint64_t last_id, const EventFilter& filter,
           EventPrinter& printer) {
  const Interrupt interrupt;
  net::HttpRequest request;
  request.method = "GET";
  request.path = "/v1/events";
  net::FollowOptions options;
  if (last_id > 0) options.last_event_id = std::to_string(last_id);
  const auto on_event = [&](const net::ServerEvent& wire) {
    if (const auto event = api::parse_event(wire.data); event && filter.admits(*event)) printer.print(*event);
    return true;
  };
  const auto ended = net::follow(agent.target(), request, options, on_event, interrupt.flag());
  return ended ? kExitHealthy : report(ended.error());
}

Result<EventFilter> filter_of(const EventsOptions& options) {
  const WallTime now = host::SystemClock{}.now().wall;
  EventFilter filter = options.filter;
  if (!options.since.empty()) filter.since = TRY(parse_moment("--since", options.since, now, now));
  if (!options.until.empty()) filter.until = TRY(parse_moment("--until", options.until, now, now));
  TRY_STATUS(check_filter(filter));
  if (options.follow && filter.until)
    return fail(Errc::malformed, "--until: --follow prints new events until Ctrl-C; leave one of both out");
  return filter;
}

// Those of the catalog, and the checks that the operator of this machine added.
EventNames known_names() {
  EventNames names;
  for (const auto& check : catalog::builtin().checks())
    names.checks.push_back(check.id);
  for (const auto& reason : catalog::builtin().reasons())
    names.reasons.push_back(reason.id);
  const auto settings = load_settings("");
  const auto own = settings ? checks_of({}, *settings) : fail(settings.error());
  if (own)
    for (const auto& check : own->checks)
      names.checks.push_back(check.info.id);
  return names;
}

int show(const EventsOptions& options) {
  auto filter = filter_of(options);
  if (!filter) return report_usage(filter.error().what);
  const auto target = agent_target(options.socket);
  if (!target) return report(target.error());
  const AgentClient agent(*target);
  auto events = past_events(agent, filter->since);
  const auto known = check_names(*filter, known_names(), events ? *events : std::vector<Event>{});
  if (!known) return report_usage(known.error().what);
  if (!events) return report(events.error());
  add_spellings(*filter, *events);
  std::uint64_t last_id = 0;
  for (const Event& event : *events)
    last_id = std::max(last_id, event.id);
  const auto selected = selected_events(std::move(*events), *filter);
  EventPrinter printer(options.format);
  for (const Event& event : selected)
    printer.print(event);
  if (options.follow) return follow(agent, last_id, *filter, printer);
  if (selected.empty()) tell("no event matches");
  return kExitHealthy;
}

// One value for each use of the option; values may also be separated by commas.
void add_choice(CLI::App& verb, const std::string& name, std::vector<std::string>& values,
                const std::string& type, const std::string& description) {
  verb.add_option(name, values, description)->type_name(type)->delimiter(',')->allow_extra_args(false);
}

}  // namespace

void add_events(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<EventsOptions>();
  EventFilter& filter = options->filter;
  auto* verb = app.add_subcommand("events", "Show the events of this machine, oldest first");
  verb->add_option("--since", options->since,
                   "Only newer events: 2h, 2026-11-30, '2026-11-30 03:00', yesterday (UTC)")
      ->type_name("WHEN");
  verb->add_option("--until", options->until, "Only older events; the same forms")->type_name("WHEN");
  add_choice(*verb, "--check", filter.checks, "ID",
             "Only events of this check, or of a domain: gpu, network");
  add_choice(*verb, "--subject", filter.subjects, "KIND/KEY",
             "Only events about this subject: gpu/3, 'GPU 3', 0000:3b:00.0, nvme0n1, host");
  add_choice(*verb, "--reason", filter.reasons, "REASON", "Only events with this reason");
  add_choice(*verb, "--health,--severity", filter.healths, "HEALTH",
             "Only events with this health: failed, degraded, unknown, healthy");
  add_choice(*verb, "--kind", filter.kinds, "KIND",
             "Only events of this kind: finding_raised, or all of finding");
  verb->add_flag("-f,--follow", options->follow, "Keep printing new events until Ctrl-C");
  add_format_option(*verb, options->format);
  add_socket_option(*verb, options->socket);
  verb->footer(
      "Each option for a choice may be repeated, or have several values: gpu,host.\n"
      "-o json prints one object a line. Without an agent, the journal is read.\n"
      "Examples:\n  autopilot events --since 1h\n"
      "  autopilot events --since yesterday --until '2026-11-30 03:00' --check gpu\n"
      "  autopilot events --kind incident --health failed\n"
      "  autopilot events --follow -o json");
  verb->callback([options, &exit_code] { exit_code = show(*options); });
}

}  // namespace autopilot::cli
