// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <string>
#include <string_view>

#include "api/json.hpp"
#include "cli/output/job_tables.hpp"

namespace autopilot::cli {
namespace {

void write_estimate(api::JsonWriter& json, std::string_view name,
                    const std::optional<jobs::Estimate>& estimate) {
  if (!estimate) return;
  json.begin_object(name);
  json.number("value", estimate->value);
  json.number("low", estimate->low);
  json.number("high", estimate->high);
  json.end_object();
}

void write_rate(api::JsonWriter& json, std::string_view name, const jobs::Rate& rate) {
  json.begin_object(name);
  json.count("events", rate.events);
  json.number("exposure", rate.exposure);
  write_estimate(json, "rate", rate.rate);
  json.end_object();
}

void write_delays(api::JsonWriter& json, std::string_view name, const jobs::Delays& delays) {
  json.begin_object(name);
  json.count("count", delays.count);
  if (delays.median_s) json.number("medianSeconds", *delays.median_s);
  if (delays.p90_s) json.number("p90Seconds", *delays.p90_s);
  json.end_object();
}

void write_classes(api::JsonWriter& json, const jobs::Score& score) {
  json.begin_list("classes");
  for (const jobs::ClassScore& one : score.classes) {
    json.begin_object();
    json.word("class", one.fault_class);
    json.word_if_any("magnitude", one.magnitude);
    json.count("faults", one.faults);
    json.count("detected", one.detected);
    write_estimate(json, "recall", one.recall);
    write_delays(json, "delay", one.delays);
    json.end_object();
  }
  json.end_list();
}

void write_false_findings(api::JsonWriter& json, const jobs::Score& score) {
  json.begin_list("wrong");
  for (const jobs::FalseFinding& one : score.wrong) {
    json.begin_object();
    json.word("id", one.id);
    json.time("time", one.raised);
    json.word("what", one.what);
    json.end_object();
  }
  json.end_list();
}

}  // namespace

std::string score_json(const jobs::Score& score, bool is_simulated) {
  api::JsonWriter json;
  json.begin_object();
  json.flag("simulated", is_simulated);
  json.time("begin", score.exposure.begin);
  json.time("end", score.exposure.end);
  json.number("nodeDays", score.exposure.node_days);
  json.number("jobDays", score.exposure.job_days);
  json.count("faults", score.faults);
  json.count("detected", score.detected);
  json.count("falseFindings", score.false_findings);
  write_estimate(json, "precision", score.precision);
  write_estimate(json, "recall", score.recall);
  write_estimate(json, "f1", score.f1);
  write_estimate(json, "firstIsRight", score.first_is_right);
  write_estimate(json, "partIsRight", score.part_is_right);
  write_rate(json, "falseAccusationsPer1000NodeDays", score.false_accusations);
  write_rate(json, "falseHangsPerJobDay", score.false_hangs);
  json.count("wrongCulprits", score.wrong_culprits);
  json.count("blamedConfounders", score.blamed_confounders);
  json.begin_object("confounders");
  for (const auto& [name, count] : score.confounders)
    json.count(name, count);
  json.end_object();
  write_delays(json, "delay", score.delays);
  write_delays(json, "hangDelay", score.hang_delays);
  json.begin_object("notCounted");
  json.count("repeated", score.repeated);
  json.count("unlocalised", score.unlocalised);
  json.count("elsewhere", score.elsewhere);
  json.count("info", score.info);
  json.count("outOfRange", score.out_of_range);
  json.end_object();
  write_classes(json, score);
  json.words("missed", score.missed);
  write_false_findings(json, score);
  json.end_object();
  return json.take();
}

}  // namespace autopilot::cli
