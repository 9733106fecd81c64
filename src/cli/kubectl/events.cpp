// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/cli.hpp"
#include "cli/kubectl/cluster_reader.hpp"
#include "cli/kubectl/event_table.hpp"
#include "cli/kubectl/verbs.hpp"
#include "cli/output/format.hpp"
#include "cli/output/terminal.hpp"
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

}  // namespace autopilot::cli
