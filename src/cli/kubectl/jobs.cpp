// SPDX-License-Identifier: Apache-2.0
#include "cli/kubectl/jobs.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <tuple>
#include <utility>

#include "cli/cli.hpp"
#include "cli/kubectl/cluster.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/phrases.hpp"
#include "cli/output/print.hpp"
#include "cli/verbs.hpp"
#include "core/health.hpp"
#include "host/clock/system_clock.hpp"

namespace autopilot::cli {
namespace {

constexpr std::size_t kJobsInAPage = 500;
constexpr std::size_t kEvidenceOfCause = 6;

struct ClusterJobsOptions {
  std::string name;        // of a job; empty: all
  std::string name_space;  // empty: all
};

bool is_in_trouble(const kube::JobHealthReport& report) {
  return report.health == "hung" || report.health == "stalled" || report.health == "slow" ||
         (report.failure && report.outcome == "failed");
}

std::string_view job_color_of(const kube::JobHealthReport& report) {
  if (report.health == "hung" || report.outcome == "failed") return color_of(Health::failed);
  return is_in_trouble(report) ? color_of(Health::degraded) : std::string_view();
}

std::string health_text(const kube::JobHealthReport& report) {
  return report.outcome.empty() ? report.health : report.outcome;
}

std::string since_text(const std::optional<WallTime>& time, WallTime now) {
  return time ? age_of(*time, now) : std::string("-");
}

const kube::ReportedJobFinding* open_finding(const kube::JobHealthReport& report) {
  const auto found = std::ranges::find_if(
      report.findings, [](const kube::ReportedJobFinding& finding) { return !finding.resolved; });
  return found == report.findings.end() ? nullptr : &*found;
}

// One line of a text of the cluster, which is untrusted.
void add_line(std::string& page, const std::string& text) {
  page += printable(text) + "\n";
}

void add_evidence(std::string& page, const std::vector<std::string>& evidence) {
  for (std::size_t i = 0; i < std::min(evidence.size(), kEvidenceOfCause); ++i)
    add_line(page, "  - " + evidence[i]);
}

void add_failure(std::string& page, const kube::ReportedJobFailure& failure) {
  add_line(page, "Failure: " + failure.kind + " (" + failure.cause + "). " + failure.sentence);
  add_evidence(page, failure.evidence);
  for (const std::string& source : failure.not_available)
    add_line(page, "  not available: " + source);
}

void add_finding(std::string& page, const kube::ReportedJobFinding& finding, WallTime now) {
  add_line(page, finding.summary);
  add_line(page, "Culprit: " + finding.culprit + "  Effect: " + finding.effect +
                     "  Since: " + since_text(finding.since, now) + "  Finding: " + finding.id);
  add_evidence(page, finding.evidence);
  add_line(page, "Decision: " + finding.choice);
}

Result<std::vector<kube::JobHealthReport>> read_jobs(ClusterReader& cluster, const ClusterJobsOptions& own) {
  std::vector<kube::JobHealthReport> reports;
  TRY_STATUS(cluster.list(
      {kube::job_health_reports_path(own.name_space), {}}, kJobsInAPage,
      {"list jobhealthreports.autopilot.ibm.com" +
           (own.name_space.empty() ? "" : " in the namespace " + own.name_space),
       "the cluster does not know the kind JobHealthReport: kubectl apply --server-side -f "
       "deploy/helm/autopilot/crds/"},
      [&](const kube::JsonObject& object) { reports.push_back(kube::parse_job_health_report(object)); }));
  sort_by_trouble(reports);
  return reports;
}

enum class Page : std::uint8_t { show, why };

int show_jobs(const ClusterOptions& options, const ClusterJobsOptions& own, Page page) {
  const auto cluster = ClusterReader::open(options);
  if (!cluster) return report(cluster.error());
  const auto reports = read_jobs(**cluster, own);
  if (!reports) return report(reports.error());
  const WallTime now = host::SystemClock{}.now().wall;
  if (own.name.empty()) {
    if (reports->empty())
      std::cout << "No job is known; does the controller run with `jobs.enabled`?\n";
    else
      std::cout << render_job_reports(*reports, now, terminal_style());
    const bool has_trouble = std::ranges::any_of(
        *reports, [](const kube::JobHealthReport& one) { return one.outcome.empty() && is_in_trouble(one); });
    return has_trouble ? kExitDegraded : kExitHealthy;
  }
  const kube::JobHealthReport* job = find_job(*reports, own.name);
  if (job == nullptr)
    return report(Error{Errc::not_found, "no job, or several, of the name " + own.name +
                                             "; list them with: kubectl autopilot jobs"});
  std::cout << (page == Page::why ? render_job_cause(*job, now)
                                  : render_job_report(*job, now, terminal_style()));
  return is_in_trouble(*job) ? kExitDegraded : kExitHealthy;
}

}  // namespace

void sort_by_trouble(std::vector<kube::JobHealthReport>& reports) {
  const auto rank = [](const kube::JobHealthReport& report) {
    return std::tuple(!report.outcome.empty(), !is_in_trouble(report), std::string_view(report.job));
  };
  std::ranges::stable_sort(reports, [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
}

const kube::JobHealthReport* find_job(std::span<const kube::JobHealthReport> reports, std::string_view name) {
  const kube::JobHealthReport* found = nullptr;
  for (const kube::JobHealthReport& report : reports) {
    if (report.job == name || report.meta.name == name) return &report;
    if (report.name != name) continue;
    if (found != nullptr) return nullptr;
    found = &report;
  }
  return found;
}

std::string render_job_reports(std::span<const kube::JobHealthReport> reports, WallTime now,
                               const TableStyle& style) {
  std::vector<Row> rows;
  for (const kube::JobHealthReport& report : reports)
    rows.push_back({{report.job},
                    {health_text(report), job_color_of(report)},
                    {std::to_string(report.node_count)},
                    {report.step ? std::to_string(*report.step) : "-"},
                    {since_text(report.since, now)},
                    {report.culprit.empty() ? "-" : report.culprit}});
  return render_columns({"JOB", "HEALTH", "NODES", "STEP", "SINCE", "CULPRIT"}, std::move(rows), style);
}

std::string render_job_report(const kube::JobHealthReport& report, WallTime now, const TableStyle& style) {
  std::string page = render_job_reports({&report, 1}, now, style) + "\n";
  add_line(page, "Owner: " + report.owner + "  Attempt: " + std::to_string(report.attempt) +
                     "  Progress: " + (report.progress_source.empty() ? "unknown" : report.progress_source));
  for (const std::string& source : report.not_seen)
    add_line(page, "Not seen: " + source);
  for (const kube::ReportedJobFinding& finding : report.findings) {
    page += "\n";
    add_finding(page, finding, now);
  }
  if (report.failure) add_failure(page, *report.failure);
  if (report.afterwards) {
    add_line(page, "Afterwards: " + report.afterwards->text);
    for (const kube::ReportedNodeValidation& one : report.afterwards->nodes)
      add_line(page, "  - " + one.node + ": " + one.verdict + ": " + one.text);
  }
  for (const auto& [finding, action] : report.actions)
    add_line(page, "Action about " + finding + ": " + action.state + ": " + action.message);
  return page;
}

std::string render_job_cause(const kube::JobHealthReport& report, WallTime now) {
  std::string page;
  add_line(page, report.job + " is " + health_text(report) + "; since " + since_text(report.since, now) +
                     ", " + std::to_string(report.node_count) + " nodes, attempt " +
                     std::to_string(report.attempt));
  const kube::ReportedJobFinding* finding = open_finding(report);
  if (finding != nullptr) add_finding(page, *finding, now);
  if (report.failure) add_failure(page, *report.failure);
  if (report.afterwards) add_line(page, "Afterwards: " + report.afterwards->text);
  if (finding == nullptr && !report.failure)
    add_line(page, "Nothing is known to be wrong. Progress: " +
                       (report.progress_source.empty() ? "no source" : report.progress_source));
  for (const std::string& source : report.not_seen)
    add_line(page, "Not seen: " + source);
  return page;
}

void add_cluster_jobs(CLI::App& app, ClusterOptions& cluster, int& exit_code) {
  auto options = std::make_shared<ClusterJobsOptions>();
  auto* verb = app.add_subcommand("jobs", "Show the running jobs of a cluster, and what slows or stops them");
  verb->add_option("job", options->name, "Show this job with its findings");
  verb->add_option("-n,--namespace", options->name_space, "Namespace of the jobs; default: all");
  add_cluster_options(*verb, cluster);
  auto* why = verb->add_subcommand("why", "State what stops or slows a job, with the evidence");
  why->add_option("job", options->name, "Name of the job")->required();
  verb->footer(
      "Examples:\n  kubectl autopilot jobs\n  kubectl autopilot jobs ml/llama-7f3a\n"
      "  kubectl autopilot jobs why ml/llama-7f3a");
  why->callback([&cluster, options, &exit_code] { exit_code = show_jobs(cluster, *options, Page::why); });
  verb->callback([verb, &cluster, options, &exit_code] {
    if (verb->get_subcommands().empty()) exit_code = show_jobs(cluster, *options, Page::show);
  });
}

}  // namespace autopilot::cli
