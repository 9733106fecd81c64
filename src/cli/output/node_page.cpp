// SPDX-License-Identifier: Apache-2.0
#include "cli/output/node_page.hpp"

#include <algorithm>
#include <ranges>
#include <string_view>
#include <tuple>
#include <utility>

#include "catalog/catalog.hpp"
#include "cli/output/gpu_identities.hpp"
#include "cli/output/page_gpus.hpp"
#include "cli/output/phrases.hpp"
#include "cli/output/remedy.hpp"
#include "core/not_started.hpp"
#include "incidents/evidence.hpp"

namespace autopilot::cli {
namespace {

int page_rank(Health health) {
  switch (health) {
    case Health::failed:
      return 0;
    case Health::unknown:
      return 1;
    case Health::degraded:
      return 2;
    case Health::healthy:
    case Health::unsupported:
      break;
  }
  return 3;
}

bool is_problem(const Finding& finding) {
  return incidents::is_bad(finding.health);
}

// "Xid 79"; empty if the finding is not about an error of the driver.
std::string code_text(std::string_view check, const Finding& finding) {
  const auto code = incidents::error_code(finding);
  if (!code || check != "gpu.xid") return {};
  const bool is_switch = finding.subject.kind == SubjectKind::nvswitch;
  return (is_switch ? "SXid " : "Xid ") + std::to_string(*code);
}

std::string explain_of(const std::string& reason_id, std::string code) {
  if (!code.empty()) {
    std::ranges::transform(code, code.begin(),
                           [](char sign) { return sign >= 'A' && sign <= 'Z' ? sign - 'A' + 'a' : sign; });
    return code;
  }
  return catalog::builtin().reason(reason_id) == nullptr ? std::string() : reason_id;
}

// The parts that incidents and findings have in common.
PageProblem problem_of(std::string_view check, const Finding& finding, const PlaceNames& places) {
  PageProblem problem;
  problem.health = finding.health;
  problem.text = places.sentence(finding.subject, finding.message);
  const std::string place = places.brief(finding.subject);
  const std::string code = code_text(check, finding);
  const std::string title = reason_title(finding.reason, finding.message);
  const std::string what = place + (place.empty() || code.empty() ? "" : " ") + code;
  problem.brief = what + (what.empty() ? "" : ": ") + title;
  problem.tag = code.empty() ? problem.brief : what;
  problem.since = finding.since;
  if (finding.held && finding.last_seen != WallTime{}) problem.gone = finding.last_seen;
  if (problem.gone) problem.clears_when = finding.clears_when;
  problem.advice = remedy_of(finding.reason, finding.action);
  problem.command = command_for(finding.action);
  problem.explain = explain_of(finding.reason, code);
  if (finding.injected) problem.text += " [injected]";
  return problem;
}

const IncidentMember* cause_of(const Incident& incident) {
  const auto cause = std::ranges::find(incident.members, false, &IncidentMember::sympathetic);
  return cause == incident.members.end() ? nullptr : &*cause;
}

std::string users_of(const Incident& incident) {
  constexpr std::size_t kShown = 3;
  std::vector<std::string> words;
  for (const GpuUser& user : incident.gpu_users | std::views::take(kShown))
    words.push_back(to_string(user));
  if (words.empty()) return {};
  const std::size_t more = incident.gpu_users.size() - words.size();
  return "Used by: " + joined(words) + (more > 0 ? " and " + std::to_string(more) + " more" : "");
}

void add_notes(PageProblem& problem, const Incident& incident) {
  if (const std::string users = users_of(incident); !users.empty()) problem.notes.push_back(users);
  const auto others =
      std::ranges::count(incident.members, true, &IncidentMember::sympathetic) + incident.further;
  if (others > 0)
    problem.notes.push_back("It explains " + std::to_string(others) +
                            (others == 1 ? " more finding." : " more findings."));
  if (incident.acknowledged)
    problem.notes.push_back("Acknowledged by " + incident.acknowledged->by + ": " +
                            incident.acknowledged->reason);
}

PageProblem problem_of(const Incident& incident, const PlaceNames& places) {
  const IncidentMember* cause = cause_of(incident);
  Finding finding;
  if (cause != nullptr) finding = cause->finding;
  finding.subject = incident.blamed;
  finding.health = incident.health;
  finding.message = incident.summary;
  finding.action = incident.action;
  finding.injected = incident.injected;
  finding.held = incident.state == IncidentState::recovering;
  if (finding.reason.empty()) finding.reason = incident.reason;
  if (finding.since == WallTime{}) finding.since = incident.opened;
  for (const IncidentMember& member : incident.members)
    finding.last_seen = std::max(finding.last_seen, member.finding.last_seen);
  PageProblem problem = problem_of(cause == nullptr ? incident.check : cause->check, finding, places);
  problem.incident = incident.id;
  add_notes(problem, incident);
  return problem;
}

bool has_result(const NodeSnapshot& snapshot, const std::string& check) {
  return std::ranges::find(snapshot.results, check, &CheckResult::check) != snapshot.results.end();
}

bool is_about(const Incident& incident, const NodeSnapshot& snapshot) {
  return has_result(snapshot, incident.check) ||
         std::ranges::any_of(incident.members, [&](const IncidentMember& member) {
           return has_result(snapshot, member.check);
         });
}

bool has_member(const Incident& incident, const std::string& check, const Finding& finding) {
  return std::ranges::any_of(incident.members, [&](const IncidentMember& member) {
    return member.check == check && member.finding.subject == finding.subject &&
           member.finding.reason == finding.reason;
  });
}

std::vector<PageProblem> problems_of(const NodeSnapshot& snapshot, const PlaceNames& places) {
  std::vector<PageProblem> problems;
  for (const Incident& incident : snapshot.incidents)
    if (is_about(incident, snapshot)) problems.push_back(problem_of(incident, places));
  for (const CheckResult& result : snapshot.results)
    for (const Finding& finding : result.findings)
      if (is_problem(finding) && std::ranges::none_of(snapshot.incidents, [&](const Incident& incident) {
            return has_member(incident, result.check, finding);
          }))
        problems.push_back(problem_of(result.check, finding, places));
  sort_problems(problems);
  return problems;
}

constexpr std::string_view kMissingPermission = "missing permission ";

// The permissions that the check lacks, or the message of its first unknown finding.
std::string gap_cause(const CheckResult& result, const Finding& finding, const Coverage& coverage) {
  if (finding.reason == "not_looked_yet") return "not run yet";
  const catalog::CheckPage* check = catalog::builtin().check(result.check);
  if (finding.reason != kNotPermitted || check == nullptr) return finding.message;
  std::vector<std::string> missing;
  std::ranges::copy_if(check->rights, std::back_inserter(missing), [&](const std::string& right) {
    return std::ranges::find(coverage.missing_rights, right) != coverage.missing_rights.end();
  });
  return missing.empty() ? finding.message : std::string(kMissingPermission) + joined(missing);
}

std::vector<PageGap> gaps_of(const NodeSnapshot& snapshot) {
  std::vector<PageGap> gaps;
  for (const CheckResult& result : snapshot.results) {
    const auto finding = std::ranges::find(result.findings, Health::unknown, &Finding::health);
    if (finding == result.findings.end()) continue;
    std::string cause = gap_cause(result, *finding, snapshot.coverage);
    auto gap = std::ranges::find(gaps, cause, &PageGap::cause);
    if (gap == gaps.end()) {
      const bool is_permission = cause.starts_with(kMissingPermission);
      gap = gaps.insert(gaps.end(), {.is_permission = is_permission, .cause = cause, .checks = {}});
    }
    gap->is_required = gap->is_required || result.required;
    gap->checks.push_back(result.check);
  }
  std::ranges::stable_partition(gaps, &PageGap::is_required);
  return gaps;
}

std::string losses_of_log(const SelfStatus& self) {
  std::string text;
  if (self.kernel_records_lost > 0)
    text = std::to_string(self.kernel_records_lost) + " records were overwritten before they were read";
  if (self.kernel_records_missed > 0)
    text += (text.empty() ? "" : "; ") + std::to_string(self.kernel_records_missed) +
            " records exceeded the capacity of the checks";
  return text;
}

// Of a few selected checks, the page states why one of them does not apply.
void add_reasons_of_few(NodePage& page, const NodeSnapshot& snapshot) {
  if (snapshot.results.size() > kMostNamedChecks) return;
  for (const CheckResult& result : snapshot.results)
    if (result.health == Health::unsupported && !result.findings.empty())
      page.notes.push_back({result.check, result.findings.front().message});
}

}  // namespace

bool is_not_started(const CheckResult& result) {
  return result.health == Health::unsupported && !result.findings.empty() &&
         result.findings.front().message.starts_with(kNotStarted);
}

void sort_problems(std::vector<PageProblem>& problems) {
  std::ranges::stable_sort(problems, {}, [](const PageProblem& problem) {
    return std::tuple(problem.incident.empty(), page_rank(problem.health), problem.gone.has_value());
  });
}

std::string reason_of(const NodePage& page) {
  if (page.health == Health::healthy) return {};
  if (page.health == Health::unknown && !page.gaps.empty() && page.gaps.front().is_required)
    return page.gaps.front().checks.front() + " could not run: " + page.gaps.front().cause;
  for (const PageProblem& problem : page.problems)
    if (problem.health == page.health) return problem.brief;
  if (!page.problems.empty()) return page.problems.front().brief;
  return page.checked ? "no check applies to this machine" : "no check has run yet";
}

std::string further_problems(const NodePage& page) {
  if (!incidents::is_bad(page.health)) return {};
  const auto problems = std::ranges::count_if(
      page.problems, [](const PageProblem& problem) { return incidents::is_bad(problem.health); });
  return problems > 1 ? ", and " + std::to_string(problems - 1) + " more" : "";
}

NodePage page_of(const NodeSnapshot& snapshot) {
  const PlaceNames places(snapshot);
  NodePage page;
  page.node = snapshot.node;
  page.health = snapshot.health;
  page.verdict = to_string(snapshot.verdict);
  page.is_simulated = snapshot.simulated;
  page.is_part = std::ranges::any_of(
      snapshot.incidents, [&snapshot](const Incident& incident) { return !is_about(incident, snapshot); });
  for (const CheckResult& result : snapshot.results) {
    if (result.completed != WallTime{})
      page.checked = std::max(page.checked, std::optional(result.completed));
    if (result.health == Health::healthy) page.healthy.push_back(result.check);
    if (is_not_started(result))
      ++page.not_started;
    else if (result.health == Health::unsupported)
      ++page.unsupported;
  }
  page.problems = problems_of(snapshot, places);
  page.gaps = gaps_of(snapshot);
  page.gpus = gpus_of(snapshot);
  page.reason = reason_of(page);
  add_reasons_of_few(page, snapshot);
  if (const std::string losses = losses_of_log(snapshot.self); !losses.empty())
    page.notes.push_back({"KERNEL LOG", losses});
  if (!snapshot.self.journal_problem.empty())
    page.notes.push_back({"JOURNAL", snapshot.self.journal_problem});
  return page;
}

std::string short_status(const NodePage& page) {
  const auto of_health = [&page](const PageProblem& problem) { return problem.health == page.health; };
  std::string text;
  switch (page.health) {
    case Health::healthy:
    case Health::unsupported:
      text = "ok";
      break;
    case Health::degraded:
      text = "degraded " + std::to_string(std::ranges::count_if(page.problems, of_health));
      break;
    case Health::failed: {
      const auto worst = std::ranges::find_if(page.problems, of_health);
      text = "failed" + (worst == page.problems.end() ? "" : ": " + worst->tag + further_problems(page));
      break;
    }
    case Health::unknown:
      text = "unknown";
      if (!page.gaps.empty()) text += ": " + page.gaps.front().checks.front();
      break;
  }
  return printable(text + (page.is_simulated ? " SIMULATED" : ""));
}

}  // namespace autopilot::cli
