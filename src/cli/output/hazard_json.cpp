// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <string_view>

#include "api/json.hpp"
#include "cli/output/hazard_tables.hpp"

namespace autopilot::cli {
namespace {

void write_interval(api::JsonWriter& json, std::string_view name,
                    const learning::BootstrapInterval& interval) {
  json.begin_object(name);
  json.number("value", interval.value);
  json.number("low", interval.low);
  json.number("high", interval.high);
  json.end_object();
}

void write_trace(api::JsonWriter& json, const learning::HazardEvaluation& result, const TraceCounts& counts) {
  json.begin_object("trace");
  json.count("events", counts.events);
  json.count("faults", counts.faults);
  json.count("nodes", result.nodes);
  json.count("nodesWithFault", result.nodes_with_fault);
  json.count("openAtEnd", result.open_at_end);
  json.count("outOfOrder", counts.problems.out_of_order);
  json.count("repeatedBegins", counts.problems.repeated_begins);
  json.count("endsWithoutBegin", counts.problems.ends_without_begin);
  json.count("unknownLevels", counts.problems.unknown_levels);
  json.end_object();
}

void write_part(api::JsonWriter& json, std::string_view name, const learning::HistoryPart& part) {
  json.begin_object(name);
  json.number("fromDay", part.from_day);
  json.number("toDay", part.to_day);
  json.count("faults", part.episodes);
  json.number("serviceDays", part.service_days);
  if (part.episodes > 0) json.number("mtbfDays", part.mtbf_days());
  json.end_object();
}

void write_models(api::JsonWriter& json, const learning::HazardEvaluation& result) {
  json.begin_list("models");
  for (const learning::ModelFit& fit : result.models) {
    json.begin_object();
    json.word("name", fit.name);
    json.number("gainPerFault", fit.gain_per_fault);
    json.number("basePerDay", fit.model.base_per_day);
    json.begin_list("terms");
    for (const learning::HazardTerm& term : fit.model.terms) {
      json.begin_object();
      json.number("days", term.days);
      json.number("faults", term.faults);
      json.end_object();
    }
    json.end_list();
    json.end_object();
  }
  json.end_list();
}

void write_windows(api::JsonWriter& json, std::string_view name,
                   const std::vector<learning::ReturnWindow>& windows) {
  json.begin_list(name);
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const learning::ReturnWindow& window = windows[i];
    json.begin_object();
    json.number("days", window.days);
    json.flag_if_set("learned", i + 1 == windows.size());
    json.count("faults", window.episodes);
    json.count("faultsInside", window.inside);
    json.number("serviceDays", window.service_days);
    json.number("serviceDaysInside", window.window_days);
    write_interval(json, "lift", window.lift);
    json.end_object();
  }
  json.end_list();
}

void write_ranking(api::JsonWriter& json, const learning::HazardEvaluation& result) {
  json.number("rankingHorizonDays", result.horizon_days);
  json.begin_list("ranking");
  for (const learning::RankingResult& one : result.rankings) {
    json.begin_object();
    json.word("score", one.name);
    json.count("days", result.ranking_days);
    write_interval(json, "precision", one.precision);
    json.number("baseRate", one.base_rate);
    write_interval(json, "lift", one.lift);
    write_interval(json, "auc", one.auc);
    json.end_object();
  }
  json.end_list();
  json.begin_object("lemons");
  json.count("named", result.lemons.named);
  json.count("withFault", result.lemons.with_fault);
  json.end_object();
}

void write_calibration(api::JsonWriter& json, const learning::Calibration& calibration) {
  json.begin_object("calibration");
  json.number("horizonDays", calibration.horizon_days);
  json.count("predictions", calibration.predictions);
  json.number("expected", calibration.expected);
  json.number("observed", calibration.observed);
  if (calibration.observed > 0) write_interval(json, "ratio", calibration.ratio);
  json.begin_list("tenths");
  for (const learning::CalibrationGroup& one : calibration.tenths) {
    json.begin_object();
    json.number("nodes", one.nodes);
    json.number("lowest", one.lowest);
    json.number("highest", one.highest);
    json.number("expected", one.expected);
    json.number("observed", one.observed);
    json.end_object();
  }
  json.end_list();
  json.end_object();
}

}  // namespace

std::string hazard_json(const learning::HazardEvaluation& result, const TraceCounts& counts) {
  api::JsonWriter json;
  json.begin_object();
  write_trace(json, result, counts);
  write_part(json, "fitted", result.fitted);
  write_part(json, "judged", result.judged);
  write_part(json, "whole", result.whole);
  write_models(json, result);
  json.number("learnedProbationDays", result.learned_probation_days);
  write_windows(json, "windows", result.windows);
  write_windows(json, "wholeWindows", result.whole_windows);
  write_ranking(json, result);
  write_calibration(json, result.calibration);
  json.end_object();
  return json.take();
}

}  // namespace autopilot::cli
