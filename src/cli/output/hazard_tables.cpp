// SPDX-License-Identifier: Apache-2.0
#include "cli/output/hazard_tables.hpp"

#include <array>
#include <charconv>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/output/layout.hpp"

namespace autopilot::cli {
namespace {

std::string decimal(double number, int digits) {
  std::array<char, 64> text{};
  const auto [end, error] =
      std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed, digits);
  return error == std::errc{} ? std::string(text.data(), end) : "?";
}

std::string percent(double share, int digits) {
  return decimal(share * 100, digits) + " %";
}

std::string share_text(double part, double whole, int digits) {
  return whole > 0 ? percent(part / whole, digits) : "-";
}

std::string bounds_text(const learning::BootstrapInterval& interval, int digits, double scale = 1) {
  return decimal(interval.low * scale, digits) + " to " + decimal(interval.high * scale, digits);
}

std::string with_bounds(const learning::BootstrapInterval& interval, int digits) {
  return decimal(interval.value, digits) + " (" + bounds_text(interval, digits) + ")";
}

Row part_row(std::string name, const learning::HistoryPart& part) {
  return {{std::move(name)},
          {decimal(part.from_day, 1) + " to " + decimal(part.to_day, 1)},
          {std::to_string(part.episodes)},
          {decimal(part.service_days, 0)},
          {part.episodes > 0 ? decimal(part.mtbf_days(), 1) + " days" : "-"}};
}

std::string trace_text(const learning::HazardEvaluation& result, const TraceCounts& counts,
                       const TableStyle& style) {
  std::string out = std::to_string(counts.events) + " events, " + std::to_string(counts.faults) +
                    " faults of " + std::to_string(result.nodes_with_fault) + " of " +
                    std::to_string(result.nodes) + " nodes; " + std::to_string(result.open_at_end) +
                    " nodes out of service at the end.\nOverlapping faults of a node count once.\n\n";
  out += render_columns(
      {"PART", "DAYS", "FAULTS", "NODE-DAYS IN SERVICE", "MTBF OF A NODE"},
      {part_row("fitted", result.fitted), part_row("judged", result.judged), part_row("whole", result.whole)},
      style);
  return out;
}

std::string model_text(const learning::HazardModel& model) {
  std::string text = decimal(model.base_per_day * 1000, 2) + " per 1000 node-days";
  for (const learning::HazardTerm& term : model.terms)
    text += "; " + decimal(term.faults, 3) + " (" + decimal(term.days, 2) + " d)";
  return text;
}

std::string models_text(const learning::HazardEvaluation& result, const TableStyle& style) {
  std::vector<Row> rows;
  for (const learning::ModelFit& fit : result.models)
    rows.push_back({{fit.name}, {decimal(fit.gain_per_fault, 3)}, {model_text(fit.model)}});
  return "\nModels of the hazard: base rate, and expected further faults after one return\n"
         "with their time constants. Gain: log-likelihood per judged fault above that of\n"
         "the constant rate.\n\n" +
         render_columns({"MODEL", "GAIN", "FITTED"}, rows, style);
}

Row window_row(const learning::ReturnWindow& judged, const learning::ReturnWindow& whole, bool is_learned) {
  const auto inside = static_cast<double>(judged.inside);
  const auto episodes = static_cast<double>(judged.episodes);
  return {{decimal(judged.days, is_learned ? 1 : 0) + (is_learned ? " d, learned" : " d")},
          {share_text(inside, episodes, 1)},
          {share_text(judged.window_days, judged.service_days, 2)},
          {with_bounds(judged.lift, 1)},
          {with_bounds(whole.lift, 1)}};
}

std::string windows_text(const learning::HazardEvaluation& result, const TableStyle& style) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < result.windows.size(); ++i)
    rows.push_back(window_row(result.windows[i], result.whole_windows[i], i + 1 == result.windows.size()));
  return "\nProbation: faults within a window after a return to service of the same node.\n\n" +
         render_columns({"WINDOW", "FAULTS", "DAYS", "LIFT, JUDGED", "LIFT, WHOLE TRACE"}, rows, style);
}

std::string ranking_text(const learning::HazardEvaluation& result, const TableStyle& style) {
  std::vector<Row> rows;
  for (const learning::RankingResult& one : result.rankings)
    rows.push_back({{one.name},
                    {percent(one.precision.value, 1) + " (" + bounds_text(one.precision, 1, 100) + ")"},
                    {decimal(one.lift.value, 2)},
                    {decimal(one.auc.value, 3)}});
  const double base_rate = result.rankings.empty() ? 0 : result.rankings.front().base_rate;
  const std::string horizon = decimal(result.horizon_days, 0) + " days";
  std::string out = "\nRanking: top 5 % of the nodes in service, on " + std::to_string(result.ranking_days) +
                    " days a week apart.\nOf all nodes in service, " + percent(base_rate, 1) +
                    " fail within " + horizon + ".\n\n";
  out += render_columns({"SCORE", "TOP 5 % THAT FAIL", "LIFT", "AUC"}, rows, style);
  const learning::LemonCount& lemons = result.lemons;
  if (lemons.named == 0) return out + "Lemons: none is named on these days.\n";
  return out + "Lemons, at most 1.5 % of the fleet: " + std::to_string(lemons.with_fault) + " of " +
         std::to_string(lemons.named) + " fail within " + horizon + ".\n";
}

std::string calibration_text(const learning::Calibration& calibration, const TableStyle& style) {
  std::vector<Row> rows;
  for (const learning::CalibrationGroup& one : calibration.tenths)
    rows.push_back({{decimal(one.nodes, 0)},
                    {percent(one.lowest, 2) + " to " + percent(one.highest, 2)},
                    {decimal(one.expected, 1)},
                    {decimal(one.observed, 1)}});
  std::string out = "\nCalibration of the " + decimal(calibration.horizon_days, 0) +
                    "-day hazard: " + decimal(calibration.expected, 1) + " faults expected, " +
                    decimal(calibration.observed, 0) + " observed";
  if (calibration.observed > 0) out += ", ratio\n" + with_bounds(calibration.ratio, 2);
  return out + ".\n\n" + render_columns({"NODES", "PROBABILITY", "EXPECTED", "OBSERVED"}, rows, style);
}

}  // namespace

std::string render_hazard(const learning::HazardEvaluation& result, const TraceCounts& counts,
                          const TableStyle& style) {
  return trace_text(result, counts, style) + models_text(result, style) + windows_text(result, style) +
         ranking_text(result, style) + calibration_text(result.calibration, style);
}

}  // namespace autopilot::cli
