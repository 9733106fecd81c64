// SPDX-License-Identifier: Apache-2.0
// Output of `kubectl autopilot` for any content of a cluster: no control character reaches the terminal, a
// stale node is never healthy, and the JSON is valid.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/v1.hpp"
#include "cli/kubectl/details_page.hpp"
#include "cli/kubectl/events.hpp"
#include "cli/kubectl/node_tables.hpp"
#include "core/parse.hpp"
#include "core/result.hpp"
#include "kube/events.hpp"
#include "kube/health_reports.hpp"
#include "kube/objects.hpp"
#include "tests/fuzz/targets.hpp"

namespace autopilot::kubectl_fuzz {
namespace {

const WallTime kNow{std::chrono::seconds{1'800'000'000}};
const std::string kPrefix = "autopilot.ibm.com";

void check_text(const std::string& text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    AUTOPILOT_ASSERT(byte >= 0x20 || text[i] == '\n');
    AUTOPILOT_ASSERT(byte != 0x7f);
    AUTOPILOT_ASSERT(byte != 0xc2 || i + 1 == text.size() || static_cast<unsigned char>(text[i + 1]) >= 0xa0);
  }
}

void check_json(const std::string& json) {
  check_text(json);
  const auto yaml = api::json_to_yaml(json);
  AUTOPILOT_ASSERT(yaml.has_value());
  check_text(*yaml);
}

void show(const std::vector<cli::NodeView>& views) {
  for (const cli::NodeView& view : views) {
    const bool is_old = !view.checked || *view.checked < kNow - cli::kStaleAfter;
    AUTOPILOT_ASSERT(!is_old || (!view.verdict && view.health == Health::unknown));
  }
  check_text(cli::render_nodes(views, kNow, {}));
  check_text(cli::render_cluster(views, kNow, {}));
  check_json(cli::nodes_json(views, kNow));
  check_json(cli::cluster_json(views, kNow));
}

}  // namespace

int run(const std::uint8_t* data, std::size_t size) {
  const void* bytes = data;
  const std::string_view text(static_cast<const char*>(bytes), size);
  std::vector<kube::HealthReport> reports;
  std::vector<kube::Node> nodes;
  std::vector<kube::RecordedEvent> events;
  cli::NodeDetails details;
  // Each object is read as each of the kinds.
  const auto take = [&](const kube::JsonObject& object) {
    reports.push_back(kube::parse_health_report(object));
    nodes.push_back(kube::parse_node(object));
    events.push_back(kube::parse_recorded_event(object));
    details.report = kube::parse_report_details(object);
    details.conditions = cli::own_conditions(nodes.back());
  };
  if (!kube::read_list_page(text, take)) static_cast<void>(kube::read_object(text, take));
  const auto views = cli::node_views(reports, nodes, kPrefix, kNow);
  AUTOPILOT_ASSERT(views.size() <= reports.size() + nodes.size());
  show(views);
  if (!views.empty()) details.view = views.front();
  check_text(cli::render_details(details, kNow, {}));
  check_text(cli::render_page(cli::page_of(details), {.now = kNow}));
  check_text(cli::short_status(cli::page_of(details)));
  check_json(cli::details_json(details, kNow));
  cli::sort_newest_last(events);
  check_text(cli::render_events(events, kNow, {}));
  check_json(cli::events_json(events));
  return 0;
}

}  // namespace autopilot::kubectl_fuzz
