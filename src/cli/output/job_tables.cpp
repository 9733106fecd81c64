// SPDX-License-Identifier: Apache-2.0
#include "cli/output/job_tables.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/output/layout.hpp"
#include "core/health.hpp"

namespace autopilot::cli {
namespace {

constexpr std::size_t kSeverityWidth = 10;
constexpr std::size_t kEffectWidth = 12;

std::string fixed(double number, int digits) {
  std::array<char, 64> text{};
  const auto [end, error] =
      std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed, digits);
  return error == std::errc{} ? std::string(text.data(), end) : "?";
}

// To the second: the engine advances in steps of 10 s.
std::string second_of(WallTime time) {
  return format_time(time).substr(0, 19) + "Z";
}

std::string_view color_of_severity(jobs::Severity severity) {
  switch (severity) {
    case jobs::Severity::page:
      return color_of(Health::failed);
    case jobs::Severity::ticket:
      return color_of(Health::degraded);
    case jobs::Severity::info:
      break;
  }
  return "";
}

// Three digits after the point for a share, fewer for a large rate.
std::string short_text(double number) {
  return fixed(number, number < 10 ? 3 : number < 1000 ? 1 : 0);
}

std::string interval_text(const jobs::Estimate& estimate, int digits) {
  return fixed(estimate.low, digits) + " to " + fixed(estimate.high, digits);
}

Row estimate_row(std::string name, const std::optional<jobs::Estimate>& estimate, std::string basis) {
  if (!estimate) return {{std::move(name)}, {"-"}, {"-"}, {std::move(basis)}};
  return {{std::move(name)},
          {short_text(estimate->value)},
          {short_text(estimate->low) + " to " + short_text(estimate->high)},
          {std::move(basis)}};
}

Row rate_row(std::string name, const jobs::Rate& rate, std::string unit) {
  std::string basis = std::to_string(rate.events) + " in " + fixed(rate.exposure, 3) + " " + std::move(unit);
  return estimate_row(std::move(name), rate.rate, std::move(basis));
}

std::string seconds_text(const std::optional<double>& seconds) {
  return seconds ? fixed(*seconds, 0) + " s" : "-";
}

std::string of(std::size_t hits, std::size_t all, std::string_view what) {
  return std::to_string(hits) + " of " + std::to_string(all) + " " + std::string(what);
}

std::string class_table(const jobs::Score& score, const TableStyle& style) {
  std::vector<Row> rows;
  for (const jobs::ClassScore& one : score.classes)
    rows.push_back({{one.fault_class},
                    {one.magnitude.empty() ? "-" : one.magnitude},
                    {std::to_string(one.faults)},
                    {std::to_string(one.detected)},
                    {one.recall ? interval_text(*one.recall, 2) : "-"},
                    {seconds_text(one.delays.median_s)},
                    {seconds_text(one.delays.p90_s)}});
  if (rows.empty()) return "";
  return "\n" + render_columns({"CLASS", "SIZE", "FAULTS", "FOUND", "RECALL", "MEDIAN", "P90"}, rows, style);
}

}  // namespace

std::string render_job_finding(const jobs::JobFinding& finding, WallTime now, const TableStyle& style) {
  const bool is_over = finding.resolved.has_value();
  const std::string_view state = is_over ? "resolved" : jobs::to_string(finding.severity);
  const std::string_view color = is_over ? color_of(Health::healthy) : color_of_severity(finding.severity);
  std::string out = second_of(now) + "  " + painted(padded(state, kSeverityWidth), color, style) +
                    padded(jobs::to_string(finding.effect), kEffectWidth) + printable(finding.job) + "\n";
  std::vector<std::string> sentences{jobs::to_string(finding.culprit) + " (" + fixed(finding.probability, 2) +
                                     "): " + finding.summary};
  if (!is_over && !finding.decision.because.empty()) sentences.push_back(finding.decision.because);
  constexpr std::size_t indent = 4;
  for (const std::string& sentence : sentences)
    for (const std::string& line : wrapped(printable(sentence), style.width - indent))
      out += std::string(indent, ' ') + line + "\n";
  return out;
}

std::string render_jobs(const std::vector<jobs::JobState>& jobs, const TableStyle& style) {
  if (jobs.empty()) return "";
  std::vector<Row> rows;
  for (const jobs::JobState& job : jobs)
    rows.push_back({{job.job},
                    {std::string(jobs::to_string(job.health))},
                    {std::to_string(job.ranks)},
                    {std::to_string(job.nodes)},
                    {job.step ? std::to_string(*job.step) : "-"},
                    {job.step_s ? fixed(*job.step_s, 2) + " s" : "-"},
                    {job.progress_source.empty() ? "-" : job.progress_source}});
  return render_columns({"JOB", "HEALTH", "RANKS", "NODES", "STEP", "STEP TIME", "PROGRESS"}, rows, style);
}

std::string render_score(const jobs::Score& score, const TableStyle& style) {
  const std::vector<Row> rows{
      estimate_row("precision", score.precision,
                   of(score.detected, score.detected + score.false_findings, "findings that count")),
      estimate_row("recall", score.recall, of(score.detected, score.faults, "faults")),
      estimate_row("F1", score.f1, ""),
      estimate_row("first culprit is right", score.first_is_right, "faults with a named culprit"),
      estimate_row("GPU or NIC is right", score.part_is_right, "detected faults of a GPU or NIC"),
      rate_row("false accusations", score.false_accusations, "thousand node-days"),
      rate_row("false hangs", score.false_hangs, "job-days")};
  std::string out = second_of(score.exposure.begin) + " to " + second_of(score.exposure.end) + ", " +
                    fixed(score.exposure.node_days, 1) + " node-days, " + fixed(score.exposure.job_days, 1) +
                    " job-days\n\n";
  out += render_columns({"", "VALUE", "95 % INTERVAL", "BASIS"}, rows, style);
  out += "\nDelay: median " + seconds_text(score.delays.median_s) + ", P90 " +
         seconds_text(score.delays.p90_s) + "\nDelay of hangs from the last step: median " +
         seconds_text(score.hang_delays.median_s) + ", P90 " + seconds_text(score.hang_delays.p90_s) + "\n";
  out += "Wrong culprit during a fault: " + std::to_string(score.wrong_culprits) +
         "; confounder accused: " + std::to_string(score.blamed_confounders) + "\n";
  const std::string not_counted = "Not counted: " + std::to_string(score.repeated) + " repeated, " +
                                  std::to_string(score.unlocalised) + " without a culprit during a fault, " +
                                  std::to_string(score.elsewhere) + " about another job of a faulty node, " +
                                  std::to_string(score.info) + " info, " +
                                  std::to_string(score.out_of_range) + " outside the labelled time";
  for (const std::string& line : wrapped(not_counted, style.width))
    out += line + "\n";
  return out + class_table(score, style);
}

}  // namespace autopilot::cli
