// SPDX-License-Identifier: Apache-2.0
#include "cli/kubectl/events.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/json.hpp"
#include "cli/cli.hpp"
#include "cli/kubectl/cluster.hpp"
#include "cli/kubectl/plugin.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/phrases.hpp"
#include "cli/output/print.hpp"
#include "core/parse.hpp"
#include "host/clock/system_clock.hpp"

namespace autopilot::cli {

namespace {

constexpr std::size_t kEventsInAPage = 500;
// Kubernetes keeps events of objects without a namespace here.
const std::string kEvents = "/api/v1/namespaces/default/events";

struct EventsOptions {
  std::string node;
  OutputFormat format = OutputFormat::table;
};

// Filters on the server, which then does not send all Events of the cluster.
std::string selector_of(const std::string& node) {
  return "involvedObject.kind=Node,reportingComponent=autopilot-agent" +
         (node.empty() ? "" : ",involvedObject.name=" + node);
}

Result<std::vector<kube::RecordedEvent>> read_events(ClusterReader& cluster, const std::string& node) {
  std::vector<kube::RecordedEvent> events;
  TRY_STATUS(cluster.list({kEvents, {{"fieldSelector", selector_of(node)}}}, kEventsInAPage,
                          {"list events in the namespace default", ""}, [&](const kube::JsonObject& object) {
                            auto event = kube::parse_recorded_event(object);
                            if (is_own_event(event, node)) events.push_back(std::move(event));
                          }));
  sort_newest_last(events);
  return events;
}

int show(const ClusterOptions& options, const EventsOptions& own) {
  const auto cluster = ClusterReader::open(options);
  if (!cluster) return report(cluster.error());
  const auto events = read_events(**cluster, own.node);
  if (!events) return report(events.error());
  if (own.format == OutputFormat::table)
    std::cout << render_events(*events, host::SystemClock{}.now().wall, terminal_style());
  else
    print_json(events_json(*events), own.format);
  return kExitHealthy;
}

// "node/gpu-7", as in `kubectl events --for`.
std::string node_of(const std::string& object) {
  const auto parts = split(object, '/');
  const bool is_node = parts.size() == 2 && (parts[0] == "node" || parts[0] == "nodes" || parts[0] == "no") &&
                       is_object_name(parts[1]);
  if (!is_node)
    throw CLI::ValidationError(
        "--for", "expected node/NAME, not '" + object + "'; Autopilot records events of nodes only");
  return std::string(parts[1]);
}

}  // namespace

void add_cluster_events(CLI::App& app, ClusterOptions& cluster, int& exit_code) {
  auto options = std::make_shared<EventsOptions>();
  auto* verb = app.add_subcommand("events", "Show Autopilot's events of nodes, newest last");
  auto* node = add_node_argument(*verb, options->node, "Show only events of this node");
  verb->add_option_function<std::string>(
          "--for", [options](const std::string& object) { options->node = node_of(object); },
          "Same, in the form of kubectl events")
      ->type_name("node/NAME")
      ->excludes(node);
  add_format_option(*verb, options->format);
  add_cluster_options(*verb, cluster);
  verb->footer(
      "The API server keeps Events for one hour by default (--event-ttl).\n"
      "Examples:\n  kubectl autopilot events\n  kubectl autopilot events gpu-7\n"
      "  kubectl autopilot events -o json | jq '.items[] | select(.type == \"Warning\")'");
  verb->callback([&cluster, options, &exit_code] { exit_code = show(cluster, *options); });
}

namespace {

// "20s", "20s (x3 in 5m)".
std::string age_text(const kube::RecordedEvent& event, WallTime now) {
  if (!event.last) return "?";
  std::string text = age_of(*event.last, now);
  if (event.count > 1) {
    text += " (x" + std::to_string(event.count);
    if (event.first) text += " in " + age_of(*event.first, *event.last);
    text += ")";
  }
  return text;
}

}  // namespace

bool is_own_event(const kube::RecordedEvent& event, const std::string& node) {
  constexpr std::string_view own = "autopilot";
  const bool has_own_component =
      event.component == own || event.component.starts_with(std::string(own) + "-");
  return has_own_component && event.kind == "Node" && (node.empty() || event.name == node);
}

void sort_newest_last(std::vector<kube::RecordedEvent>& events) {
  std::ranges::stable_sort(events, {}, &kube::RecordedEvent::last);
}

std::string render_events(std::span<const kube::RecordedEvent> events, WallTime now,
                          const TableStyle& style) {
  std::vector<Row> rows;
  for (const auto& event : events) {
    const auto color = event.type == "Warning" ? color_of(Health::degraded) : std::string_view();
    rows.push_back(
        {{age_text(event, now)}, {event.type, color}, {event.name}, {event.reason, color}, {event.message}});
  }
  return render_columns({"LAST SEEN", "TYPE", "NODE", "REASON", "MESSAGE"}, std::move(rows), style);
}

std::string events_json(std::span<const kube::RecordedEvent> events) {
  api::JsonWriter out;
  out.begin_object();
  out.begin_list("items");
  for (const auto& event : events) {
    out.begin_object();
    if (event.last) out.time("time", *event.last);
    if (event.first) out.time("first", *event.first);
    out.integer("count", event.count);
    out.word("type", event.type);
    out.word("node", event.name);
    out.word("reason", event.reason);
    out.word("message", event.message);
    out.word("component", event.component);
    out.end_object();
  }
  out.end_list();
  out.end_object();
  return out.take();
}

}  // namespace autopilot::cli
