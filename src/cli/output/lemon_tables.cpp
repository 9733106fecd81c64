// SPDX-License-Identifier: Apache-2.0
#include "cli/output/lemon_tables.hpp"

#include <optional>

#include "cli/output/report_numbers.hpp"

namespace autopilot::cli {
namespace {

std::string based_on(const learning::LemonList& list) {
  return counted_text(list.nodes, "node") + " and " + fixed_text(list.days, 0) + " days of history with " +
         counted_text(list.faults, "fault");
}

std::string budget_text(const learning::LemonList& list) {
  if (list.budget == 0) return "With fewer than 20 nodes, no lemon should be held for its probability alone.";
  return "At most " + std::to_string(list.budget) + " of the nodes should get no job at once.";
}

std::string day_text(std::optional<WallTime> time) {
  return time ? format_time(*time).substr(0, 10) : "-";
}

// "11-21 03:04"
std::string short_minute(std::optional<WallTime> time) {
  return time ? minute_text(*time).substr(5) : "-";
}

std::string reasons_of(const learning::NodePlan& plan) {
  std::string text = plan.is_in_service ? "" : "The node is not in service.";
  for (const std::string& reason : plan.reasons)
    text += (text.empty() ? "" : " ") + reason;
  if (!plan.is_in_service || plan.rechecks.empty()) return text.empty() ? "-" : text;
  return text + (text.empty() ? "" : " ") + plan.rechecks.front().because;
}

void write_lemon(api::JsonWriter& json, const learning::LemonRow& row) {
  json.begin_object();
  json.word("node", row.node);
  json.count("faults90d", row.faults);
  json.flag("isLemon", row.plan.is_lemon);
  json.flag("isInService", row.plan.is_in_service);
  json.number("probability", row.plan.lemon.probability);
  json.number("faultsPerDay", row.plan.lemon.faults_per_day);
  if (row.last_return) json.time("lastReturn", *row.last_return);
  if (row.probation_until) json.time("probationUntil", *row.probation_until);
  if (row.next_recheck) json.time("nextRecheck", *row.next_recheck);
  if (row.plan.largest_job_gpus) json.integer("largestJobGpus", *row.plan.largest_job_gpus);
  json.words("reasons", row.plan.reasons);
  json.end_object();
}

}  // namespace

Section lemon_section(const learning::LemonList& list) {
  Section section{.title = "Lemons and probation",
                  .titles = {"NODE", "FAULTS", "RETURN", "LEMON", "PROBATION", "RE-CHECK", "REASON"},
                  .rows = {},
                  .notes = {}};
  for (const learning::LemonRow& row : list.rows)
    section.rows.push_back({row.node, std::to_string(row.faults), day_text(row.last_return),
                            percent_text(row.plan.lemon.probability, 1), short_minute(row.probation_until),
                            short_minute(row.next_recheck), reasons_of(row.plan)});
  if (list.rows.empty())
    section.notes.push_back("No lemon, no node on probation and no re-check, from " + based_on(list) + ".");
  else
    section.notes.push_back(
        "FAULTS: begun in the last 90 days. LEMON: probability of more than 4 times the faults of all nodes "
        "(" +
        fixed_text(list.rate_of_kind * 1000, 2) + " per 1000 node-days, from " + based_on(list) +
        "; few nodes count with a prior of 4.50). " + budget_text(list) +
        " PROBATION and RE-CHECK in UTC. This list restricts no node.");
  if (!list.knows_jobs && list.faults > 0)
    section.notes.push_back("No fault names a job: a lemon needs no jobs that its faults hit.");
  return section;
}

std::string render_lemons(const learning::LemonList& list, WallTime now, const TableStyle& style) {
  return "As of " + minute_text(now) + " UTC\n\n" + render_section_body(lemon_section(list), style);
}

void write_lemons(api::JsonWriter& json, const learning::LemonList& list) {
  json.count("knownNodes", list.nodes);
  json.count("faults", list.faults);
  json.number("days", list.days);
  json.number("faultsPerNodeDay", list.rate_of_kind);
  json.flag("jobsAreKnown", list.knows_jobs);
  json.count("budget", list.budget);
  json.begin_list("nodes");
  for (const learning::LemonRow& row : list.rows)
    write_lemon(json, row);
  json.end_list();
}

std::string lemons_json(const learning::LemonList& list, WallTime now) {
  api::JsonWriter json;
  json.begin_object();
  json.time("time", now);
  write_lemons(json, list);
  json.end_object();
  return json.take();
}

}  // namespace autopilot::cli
