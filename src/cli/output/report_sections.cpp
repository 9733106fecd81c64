// SPDX-License-Identifier: Apache-2.0
#include "cli/output/report_sections.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "cli/output/layout.hpp"
#include "cli/output/lemon_tables.hpp"
#include "cli/output/report_numbers.hpp"
#include "learning/record_words.hpp"

namespace autopilot::cli {
namespace {

namespace words = learning::words;

constexpr std::size_t kMostLemonsShown = 20;
constexpr std::size_t kMostChecksShown = 40;
constexpr double kSecondsOfHour = 3600;

using Cells = std::vector<std::string>;

Cells availability_row(const learning::NodeTime& time) {
  return {"Availability", percent_text(time.availability(), 3),
          counted_text(time.nodes, "node") + ", " + hours_words(time.known_hours) + " of node time; " +
              hours_words(time.unusable_hours) + " unusable, by " + counted_text(time.faults, "fault") +
              " and " + counted_text(time.repairs, "repair")};
}

Cells delay_row(const std::string& name, const std::optional<double>& seconds,
                const learning::DetectionDelay& delay) {
  return {name, hours_words(seconds ? std::optional(*seconds / kSecondsOfHour) : std::nullopt),
          counted_text(delay.known, "fault") + " with begin and detection; unknown of " +
              std::to_string(delay.unknown)};
}

std::string bounded_precision(const learning::TrustedPrecision& precision) {
  if (!precision.precision) return "unknown";
  return percent_text(precision.precision, 1) + " (" + percent_text(precision.bounds.low, 1) + " to " +
         percent_text(precision.bounds.high, 1) + ")";
}

Cells precision_row(const learning::FindingQuality& quality) {
  return {"Precision of findings", bounded_precision(quality.all),
          std::to_string(quality.all.right) + " right and " + std::to_string(quality.all.wrong) +
              " wrong by labels; " + std::to_string(quality.unlabelled) + " of " +
              counted_text(quality.findings, "finding") + " without a label"};
}

void add_lost_rows(std::vector<Cells>& rows, const learning::FleetReport& report) {
  const learning::LostGpuHours& lost = report.jobs.lost;
  const bool is_none = lost.jobs == 0;
  const std::string hours =
      lost.most_hours ? "at most " + fixed_text(*lost.most_hours, 1) : (is_none ? "none known" : "unknown");
  rows.push_back({"Lost GPU-hours", hours,
                  counted_text(lost.jobs, "job") + " failed by hardware, " + std::to_string(lost.of_unknown) +
                      " with an unknown number of GPUs; " + counted_text(lost.failed_of_unknown, "job") +
                      " failed for an unknown reason and do not count"});
  if (!report.gpu_hour_price) return;
  const std::string cost =
      lost.most_cost ? "at most " + fixed_text(*lost.most_cost, 2) : (is_none ? "none known" : "unknown");
  rows.push_back({"Cost of these", cost, fixed_text(*report.gpu_hour_price, 2) + " for a GPU-hour"});
}

Section summary_section(const learning::FleetReport& report) {
  Section section{.title = "Summary", .titles = {"FIGURE", "VALUE", "BASED ON"}, .rows = {}, .notes = {}};
  section.rows.push_back(availability_row(report.time));
  section.rows.push_back(
      delay_row("Detection delay, median", report.faults.delay.median_seconds, report.faults.delay));
  section.rows.push_back(
      delay_row("Detection delay, P90", report.faults.delay.p90_seconds, report.faults.delay));
  section.rows.push_back(precision_row(report.findings));
  add_lost_rows(section.rows, report);
  section.notes.push_back(
      "A node counts from its first record on. It is unusable while a fault with the health failed is open, "
      "except faults of applications, or while it is in repair. " +
      counted_text(report.time.of_unknown, "fault") + " of unknown health did not count.");
  section.notes.push_back(
      "Lost GPU-hours are an upper bound: from the start of a job to its failure on all of its GPUs, because "
      "its checkpoints are unknown.");
  return section;
}

std::string bounded_mtbf(const learning::ClassFigures& figures) {
  if (!figures.mtbf_low_hours) return "unknown";
  if (!figures.mtbf_hours) return "above " + hours_words(figures.mtbf_low_hours);
  return hours_words(figures.mtbf_hours) + " (" + hours_words(figures.mtbf_low_hours) + " to " +
         hours_words(figures.mtbf_high_hours) + ")";
}

Section class_section(const learning::FaultFigures& figures) {
  Section section{.title = "Faults by class",
                  .titles = {"CLASS", "FAULTS", "OPEN", "ENDED", "MTTR", "MTBF OF A NODE (95 %)"},
                  .rows = {},
                  .notes = {}};
  for (const learning::ClassFigures& one : figures.classes)
    section.rows.push_back({std::string(word_of(words::kFaultClasses, one.kind)), std::to_string(one.faults),
                            std::to_string(one.open), std::to_string(one.ended), hours_words(one.mttr_hours),
                            bounded_mtbf(one)});
  section.notes.push_back(counted_text(figures.labelled_healthy, "fault") +
                          " labelled healthy did not count. MTTR: mean time from begin to end of the faults "
                          "that ended. MTBF: node time for each fault, with its exact bounds.");
  return section;
}

std::string sources_of(double trust) {
  std::string names;
  for (const auto& [source, word] : words::kLabelSources)
    if (learning::trust_of(source) == trust) names += (names.empty() ? "" : ", ") + std::string(word);
  return names;
}

Section trust_section(const learning::FindingQuality& quality) {
  Section section{.title = "Precision of findings by label",
                  .titles = {"LABELS", "TRUST", "RIGHT", "WRONG", "PRECISION (95 %)"},
                  .rows = {},
                  .notes = {}};
  for (const learning::TrustedPrecision& one : quality.by_trust)
    section.rows.push_back({sources_of(one.trust), fixed_text(one.trust, 2), std::to_string(one.right),
                            std::to_string(one.wrong), bounded_precision(one)});
  if (quality.by_trust.empty()) section.notes.push_back("No label settles a finding of this interval.");
  section.notes.push_back(
      "The label with the highest trust settles a finding. Labels below " +
      fixed_text(learning::kLeastTrust, 2) +
      " are not in the summary. A healthy label counts only with 24 h of successful job time on the node "
      "after the finding. A finding without a label is neither right nor wrong.");
  return section;
}

Section check_section(const learning::FindingQuality& quality) {
  Section section{.title = "What each check finds",
                  .titles = {"CHECK", "RUNS", "FOUND", "ALONE", "FAULTS", "PRECISION (95 %)"},
                  .rows = {},
                  .notes = {}};
  for (const learning::CheckFinds& one : quality.checks) {
    if (one.finds == 0 && one.faults == 0) continue;
    if (section.rows.size() == kMostChecksShown) break;
    section.rows.push_back({one.check, std::to_string(one.validations), std::to_string(one.finds),
                            std::to_string(one.unique), std::to_string(one.faults),
                            bounded_precision(one.labelled)});
  }
  section.notes.push_back(
      "RUNS: validations with an answer of the check. ALONE: no other check of the same "
      "validation found anything. FAULTS: reported by this check at any time.");
  const auto silent = std::ranges::count_if(
      quality.checks, [](const auto& one) { return one.finds == 0 && one.faults == 0; });
  section.notes.push_back(counted_text(static_cast<std::size_t>(silent), "check") +
                          " ran in validations and found nothing.");
  return section;
}

Section work_section(const learning::FleetReport& report) {
  Section section{
      .title = "Jobs and validations", .titles = {"WHAT", "COUNT", "BASED ON"}, .rows = {}, .notes = {}};
  const std::string jobs = counted_text(report.jobs.ended, "ended job");
  for (const auto& [outcome, word] : words::kOutcomes)
    section.rows.push_back({"jobs " + std::string(word),
                            std::to_string(report.jobs.outcomes[static_cast<std::size_t>(outcome)]), jobs});
  section.rows.push_back({"jobs running", std::to_string(report.jobs.running), "at the end of the interval"});
  std::size_t all = 0;
  for (const std::size_t count : report.validations.verdicts)
    all += count;
  for (const auto& [verdict, word] : words::kVerdicts)
    section.rows.push_back({"validations " + std::string(word),
                            std::to_string(report.validations.verdicts[static_cast<std::size_t>(verdict)]),
                            counted_text(all, "validation")});
  section.rows.push_back(
      {"validations worse than before", std::to_string(report.validations.worse),
       std::to_string(report.validations.compared) + " with an earlier answer of a check"});
  return section;
}

Section node_section(const learning::FaultFigures& figures) {
  Section section{.title = "Nodes with most faults",
                  .titles = {"NODE", "FAULTS", "HARDWARE", "UNUSABLE"},
                  .rows = {},
                  .notes = {}};
  for (const learning::NodeFaults& one : figures.worst)
    section.rows.push_back({one.node, std::to_string(one.faults), std::to_string(one.hardware),
                            hours_words(one.unusable_hours)});
  section.notes.push_back(counted_text(figures.nodes_with_fault, "node") + " with a fault in this interval" +
                          (figures.nodes_with_fault > figures.worst.size()
                               ? ", of which " + std::to_string(figures.worst.size()) + " are shown."
                               : "."));
  return section;
}

Section lemons_of_report(learning::LemonList list) {
  std::erase_if(list.rows, [](const learning::LemonRow& row) { return !row.is_restricted(); });
  const std::size_t all = list.rows.size();
  if (all > kMostLemonsShown) list.rows.resize(kMostLemonsShown);
  Section section = lemon_section(list);
  if (all > kMostLemonsShown)
    section.notes.push_back("The first " + std::to_string(kMostLemonsShown) + " of " + std::to_string(all) +
                            " nodes; all: autopilot nodes lemons");
  return section;
}

}  // namespace

std::string report_heading(const learning::FleetReport& report) {
  return counted_text(report.time.nodes, "node") + ", " + minute_text(report.interval.since) + " to " +
         minute_text(report.interval.until) + " UTC";
}

std::vector<Section> report_sections(const learning::FleetReport& report) {
  return {summary_section(report),        class_section(report.faults), trust_section(report.findings),
          check_section(report.findings), work_section(report),         node_section(report.faults),
          lemons_of_report(report.lemons)};
}

std::string render_section_body(const Section& section, const TableStyle& style) {
  std::string out;
  if (!section.rows.empty()) {
    std::vector<Row> rows;
    for (const Cells& cells : section.rows) {
      Row& row = rows.emplace_back();
      for (const std::string& cell : cells)
        row.push_back({cell});
    }
    out = render_columns(section.titles, std::move(rows), style) + "\n";
  }
  for (const std::string& note : section.notes)
    for (const std::string& line : wrapped(printable(note), style.width))
      out += line + "\n";
  return out;
}

}  // namespace autopilot::cli
