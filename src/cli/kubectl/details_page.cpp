// SPDX-License-Identifier: Apache-2.0
#include "cli/kubectl/details_page.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "cli/output/phrases.hpp"
#include "cli/output/remedy.hpp"

namespace autopilot::cli {
namespace {

std::string reported_place(const kube::ReportedIncident& incident) {
  const auto subject = parse_subject(incident.blamed);
  return subject ? subject_text(*subject) : incident.blamed;
}

// The message with its subject, once.
std::string reported_text(const std::string& place, const kube::ReportedIncident& incident) {
  const auto subject = parse_subject(incident.blamed);
  const bool is_named =
      subject && !subject->key.empty() && incident.summary.find(subject->key) != std::string::npos;
  return place.empty() || is_named ? incident.summary : place + ": " + incident.summary;
}

PageProblem reported_problem(const kube::ReportedIncident& incident) {
  const std::string place = reported_place(incident);
  const Action action = parse_action(incident.action).value_or(Action::none);
  PageProblem problem;
  problem.health = incident.health;
  problem.text = reported_text(place, incident) + (incident.is_injected ? " [injected]" : "");
  problem.brief = place + (place.empty() ? "" : ": ") + reason_title(incident.reason, incident.summary);
  problem.tag = problem.brief;
  problem.since = incident.opened.value_or(WallTime{});
  if (incident.state == "recovering")
    problem.notes.emplace_back("The condition is gone; it waits to be closed.");
  if (incident.is_acknowledged) problem.notes.emplace_back("Acknowledged.");
  problem.advice = remedy_of(incident.reason, action);
  problem.command = command_for(action);
  if (!reason_title(incident.reason, "").empty()) problem.explain = incident.reason;
  problem.incident = incident.id;
  return problem;
}

bool is_explained(const kube::ReportDetails& report, const std::string& check) {
  return std::ranges::find(report.incidents, check, &kube::ReportedIncident::check) != report.incidents.end();
}

void add_check(NodePage& page, const kube::ReportDetails& report, const kube::ReportedCheck& check) {
  switch (check.health) {
    case Health::healthy:
      page.healthy.push_back(check.id);
      return;
    case Health::unsupported:
      ++page.unsupported;
      return;
    case Health::unknown:
      page.gaps.push_back({.is_required = check.is_required, .cause = check.message, .checks = {check.id}});
      return;
    case Health::degraded:
    case Health::failed:
      break;
  }
  if (is_explained(report, check.id)) return;
  PageProblem problem;
  problem.health = check.health;
  problem.text = problem.brief = problem.tag = check.id + ": " + check.message;
  problem.explain = check.id;
  page.problems.push_back(std::move(problem));
}

std::string reported_coverage(const NodeDetails& details) {
  std::string text = details.view.looked.empty() ? "" : details.view.looked + " checks ran";
  if (!details.report.missing_rights.empty())
    text += (text.empty() ? "missing permissions: " : "; missing permissions: ") +
            joined(details.report.missing_rights);
  return text;
}

void add_notes(NodePage& page, const NodeDetails& details) {
  if (details.view.verdict == Verdict::evict && !details.report.why_evicted.empty())
    page.notes.push_back({"", details.report.why_evicted});
  if (const std::int64_t more = details.report.incidents_left_out; more > 0)
    page.notes.push_back({"", std::to_string(more) + " more incidents are in the agent's journal."});
  if (std::string coverage = reported_coverage(details); !coverage.empty())
    page.notes.push_back({"", std::move(coverage)});
}

}  // namespace

NodePage page_of(const NodeDetails& details) {
  const NodeView& view = details.view;
  NodePage page;
  page.node = view.node;
  page.health = view.health;
  if (view.verdict != Verdict::none) page.verdict = verdict_text(view);
  page.is_simulated = view.is_simulated.value_or(false);
  page.checked = view.checked;
  for (const kube::ReportedIncident& incident : details.report.incidents)
    page.problems.push_back(reported_problem(incident));
  for (const kube::ReportedCheck& check : details.report.checks)
    add_check(page, details.report, check);
  sort_problems(page.problems);
  std::ranges::stable_partition(page.gaps, &PageGap::is_required);
  page.reason = view.verdict ? reason_of(page) : view.worst;
  add_notes(page, details);
  return page;
}

}  // namespace autopilot::cli
