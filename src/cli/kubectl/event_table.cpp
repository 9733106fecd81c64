// SPDX-License-Identifier: Apache-2.0
#include "cli/kubectl/event_table.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "api/json_writer.hpp"
#include "cli/output/age.hpp"
#include "cli/output/columns.hpp"
#include "cli/output/paint.hpp"

namespace autopilot::cli {
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
