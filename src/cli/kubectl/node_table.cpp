// SPDX-License-Identifier: Apache-2.0
#include "cli/kubectl/node_table.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

#include "cli/output/age.hpp"
#include "cli/output/columns.hpp"
#include "cli/output/paint.hpp"

namespace autopilot::cli {
namespace {

constexpr std::array<std::string_view, 6> kVerdicts{"PASS", "WARN", "EVICT", "TESTING", "UNKNOWN", "-"};

std::size_t count_of(std::span<const NodeView> views, std::string_view verdict) {
  return static_cast<std::size_t>(
      std::ranges::count_if(views, [&](const NodeView& view) { return verdict_text(view) == verdict; }));
}

std::vector<NodeView> for_a_look(std::span<const NodeView> views) {
  std::vector<NodeView> found;
  std::ranges::copy_if(views, std::back_inserter(found), needs_a_look);
  sort_worst_first(found);
  return found;
}

// "6 PASS, 1 EVICT, 1 without accelerator".
std::string counts_text(std::span<const NodeView> views) {
  std::string text;
  for (const std::string_view verdict : kVerdicts) {
    const std::size_t count = count_of(views, verdict);
    if (count == 0) continue;
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " ";
    text += verdict == "-" ? "without accelerator" : verdict;
  }
  return text;
}

void write_views(api::JsonWriter& out, std::string_view name, std::span<const NodeView> views) {
  out.begin_list(name);
  for (const NodeView& view : views) {
    out.begin_object();
    write_node_members(out, view);
    out.end_object();
  }
  out.end_list();
}

}  // namespace

std::string_view verdict_text(const NodeView& view) {
  if (!view.verdict) return "UNKNOWN";
  return *view.verdict == Verdict::none ? "-" : to_string(*view.verdict);
}

std::string worst_text(const NodeView& view) {
  if (!view.is_simulated.value_or(false)) return view.worst;
  return view.worst + (view.worst.empty() ? "[SIMULATED]" : " [SIMULATED]");
}

Health health_of(std::span<const NodeView> views) {
  if (views.empty()) return Health::unknown;
  Health health = Health::unsupported;
  for (const NodeView& view : views)
    health = worst(health, view.health);
  return health;
}

std::string render_nodes(std::span<const NodeView> views, WallTime now, const TableStyle& style) {
  std::vector<Row> rows;
  for (const NodeView& view : views)
    rows.push_back({{view.node},
                    {std::string(verdict_text(view)), color_of(view.health)},
                    {std::string(to_string(view.health)), color_of(view.health)},
                    {view.checked ? age_of(*view.checked, now) : "never"},
                    {worst_text(view)}});
  return render_columns({"NODE", "VERDICT", "HEALTH", "CHECKED", "WORST"}, std::move(rows), style);
}

std::string render_cluster(std::span<const NodeView> views, WallTime now, const TableStyle& style) {
  const Health health = health_of(views);
  std::string text = std::to_string(views.size()) + (views.size() == 1 ? " node  " : " nodes  ") +
                     painted(to_string(health), color_of(health), style) + "\n";
  if (!views.empty()) text += counts_text(views) + "\n";
  const auto chosen = for_a_look(views);
  return chosen.empty() ? text : text + "\n" + render_nodes(chosen, now, style);
}

void write_node_members(api::JsonWriter& out, const NodeView& view) {
  out.word("node", view.node);
  if (view.verdict != Verdict::none) out.word("verdict", verdict_text(view));
  out.word("health", to_string(view.health));
  if (view.checked) out.time("checked", *view.checked);
  out.word_if_any("lastVerdict", view.last_word);
  out.word_if_any("worst", view.worst);
  out.word_if_any("looked", view.looked);
  if (view.is_simulated) out.flag("simulated", *view.is_simulated);
}

std::string nodes_json(std::span<const NodeView> views, WallTime now) {
  api::JsonWriter out;
  out.begin_object();
  out.time("time", now);
  write_views(out, "items", views);
  out.end_object();
  return out.take();
}

std::string cluster_json(std::span<const NodeView> views, WallTime now) {
  api::JsonWriter out;
  out.begin_object();
  out.time("time", now);
  out.word("health", to_string(health_of(views)));
  out.begin_object("counts");
  for (const std::string_view verdict : kVerdicts)
    out.count(verdict == "-" ? "none" : verdict, count_of(views, verdict));
  out.end_object();
  write_views(out, "items", for_a_look(views));
  out.end_object();
  return out.take();
}

}  // namespace autopilot::cli
