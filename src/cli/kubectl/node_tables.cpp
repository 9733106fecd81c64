// SPDX-License-Identifier: Apache-2.0
#include "cli/kubectl/node_tables.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "api/json.hpp"
#include "catalog/action_text.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/phrases.hpp"

namespace autopilot::cli {

namespace {

constexpr std::array<std::string_view, 6> kVerdicts{"PASS", "WARN", "EVICT", "TESTING", "UNKNOWN", "-"};

std::size_t count_of(std::span<const NodeView> views, std::string_view verdict) {
  return static_cast<std::size_t>(
      std::ranges::count_if(views, [&](const NodeView& view) { return verdict_text(view) == verdict; }));
}

std::vector<NodeView> for_a_look(std::span<const NodeView> views) {
  std::vector<NodeView> found;
  std::ranges::copy_if(views, std::back_inserter(found), needs_attention);
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
  out.word_if_any("lastVerdict", view.last_verdict);
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

namespace {

constexpr std::array<std::string_view, 4> kConditions{"GpuHealthy", "NetworkHealthy", "StorageHealthy",
                                                      "HostHealthy"};

std::string headline(const NodeDetails& details, WallTime now, const TableStyle& style) {
  const NodeView& view = details.view;
  std::string text = painted(printable(view.node), "\033[1m", style) + "  " +
                     painted(to_string(view.health), color_of(view.health), style);
  if (view.verdict != Verdict::none) text.append("  verdict ").append(verdict_text(view));
  if (view.is_simulated.value_or(false)) text += "  " + simulated_word(style);
  return text + "  checked " + (view.checked ? age_of(*view.checked, now) + " ago" : "never") + "\n";
}

std::string coverage_lines(const NodeDetails& details, const TableStyle& style) {
  std::string text = details.view.looked.empty() ? "" : details.view.looked + " checks ran";
  if (!details.report.missing_rights.empty())
    text += (text.empty() ? "missing permissions: " : "; missing permissions: ") +
            joined(details.report.missing_rights);
  std::string lines;
  for (const auto& line : wrapped(printable(text), style.width))
    lines += line + "\n";
  return lines;
}

// Reason for UNKNOWN. Stale findings are not shown as current.
std::string why_unknown(const NodeDetails& details, const TableStyle& style) {
  if (details.view.verdict) return "";
  std::string lines;
  for (const auto& line : wrapped(printable(details.view.worst), style.width))
    lines += line + "\n";
  return lines;
}

std::string why_evicted(const NodeDetails& details, const TableStyle& style) {
  if (details.view.verdict != Verdict::evict) return "";
  std::string lines;
  for (const auto& line : wrapped(printable(details.report.why_evicted), style.width))
    lines += line + "\n";
  return lines;
}

std::string culprit_of(const kube::ReportedIncident& incident) {
  const auto subject = parse_subject(incident.blamed);
  return subject ? subject_text(*subject) : incident.blamed;
}

std::string text_of(const kube::ReportedIncident& incident, WallTime now) {
  std::string text = culprit_of(incident);
  text += (text.empty() ? "" : ": ") + incident.summary;
  if (incident.is_injected) text += " [injected]";
  text += " [" + incident.state + (incident.is_acknowledged ? ", acknowledged]" : "]");
  if (incident.opened) text += " (for " + age_of(*incident.opened, now) + ")";
  catalog::append_action(text, incident.action);
  return text;
}

std::string incidents_table(const kube::ReportDetails& report, WallTime now, const TableStyle& style) {
  std::vector<Row> rows;
  for (const auto& incident : report.incidents)
    rows.push_back({{incident.id},
                    {std::string(to_string(incident.health)), color_of(incident.health)},
                    {text_of(incident, now)}});
  std::string text =
      rows.empty() ? "" : "\n" + render_columns({"INCIDENT", "HEALTH", "MESSAGE"}, std::move(rows), style);
  if (report.incidents_left_out > 0)
    text += std::to_string(report.incidents_left_out) + " more are in the agent's journal.\n";
  return text;
}

std::string checks_table(const kube::ReportDetails& report, const TableStyle& style) {
  std::vector<Row> rows;
  for (const auto& check : report.checks)
    if (check.health != Health::healthy && check.health != Health::unsupported)
      rows.push_back(
          {{check.id}, {std::string(to_string(check.health)), color_of(check.health)}, {check.message}});
  return rows.empty() ? "" : "\n" + render_columns({"CHECK", "HEALTH", "MESSAGE"}, std::move(rows), style);
}

std::string_view color_of_status(std::string_view status) {
  if (status == "True") return color_of(Health::healthy);
  return color_of(status == "False" ? Health::failed : Health::unknown);
}

std::string conditions_table(const std::vector<kube::NodeCondition>& conditions, WallTime now,
                             const TableStyle& style) {
  std::vector<Row> rows;
  for (const auto& condition : conditions) {
    std::string text = condition.reason;
    if (!condition.message.empty()) text += ": " + condition.message;
    if (condition.transition) text += " (for " + age_of(*condition.transition, now) + ")";
    rows.push_back(
        {{condition.type}, {condition.status, color_of_status(condition.status)}, {std::move(text)}});
  }
  return rows.empty() ? "" : "\n" + render_columns({"CONDITION", "STATUS", "REASON"}, std::move(rows), style);
}

void write(api::JsonWriter& out, const kube::ReportedIncident& incident) {
  out.begin_object();
  out.word("id", incident.id);
  out.word("state", incident.state);
  out.word("blamed", incident.blamed);
  out.word("health", to_string(incident.health));
  out.word_if_any("action", incident.action);
  out.word_if_any("summary", incident.summary);
  if (incident.opened) out.time("opened", *incident.opened);
  out.flag("acknowledged", incident.is_acknowledged);
  out.flag_if_set("injected", incident.is_injected);
  out.end_object();
}

void write(api::JsonWriter& out, const kube::ReportedCheck& check) {
  out.begin_object();
  out.word("check", check.id);
  out.word("health", to_string(check.health));
  out.word_if_any("message", check.message);
  out.end_object();
}

void write(api::JsonWriter& out, const kube::NodeCondition& condition) {
  out.begin_object();
  out.word("type", condition.type);
  out.word("status", condition.status);
  out.word("reason", condition.reason);
  out.word_if_any("message", condition.message);
  if (condition.transition) out.time("since", *condition.transition);
  out.end_object();
}

template <class T>
void write_list(api::JsonWriter& out, std::string_view name, const std::vector<T>& items) {
  out.begin_list(name);
  for (const T& item : items)
    write(out, item);
  out.end_list();
}

}  // namespace

std::vector<kube::NodeCondition> own_conditions(const kube::Node& node) {
  std::vector<kube::NodeCondition> own;
  std::ranges::copy_if(node.conditions, std::back_inserter(own), [](const kube::NodeCondition& condition) {
    return std::ranges::find(kConditions, condition.type) != kConditions.end();
  });
  return own;
}

std::string render_details(const NodeDetails& details, WallTime now, const TableStyle& style) {
  return headline(details, now, style) + coverage_lines(details, style) + why_unknown(details, style) +
         why_evicted(details, style) + incidents_table(details.report, now, style) +
         conditions_table(details.conditions, now, style) + checks_table(details.report, style);
}

std::string details_json(const NodeDetails& details, WallTime now) {
  api::JsonWriter out;
  out.begin_object();
  out.time("time", now);
  write_node_members(out, details.view);
  out.word_if_any("whyEvicted", details.report.why_evicted);
  out.words("missingRights", details.report.missing_rights);
  write_list(out, "incidents", details.report.incidents);
  out.integer("incidentsLeftOut", details.report.incidents_left_out);
  write_list(out, "conditions", details.conditions);
  write_list(out, "checks", details.report.checks);
  out.end_object();
  return out.take();
}

}  // namespace autopilot::cli
