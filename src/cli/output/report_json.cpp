// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <string>
#include <string_view>

#include "api/json.hpp"
#include "cli/output/lemon_tables.hpp"
#include "cli/output/report_pages.hpp"
#include "learning/record_words.hpp"

namespace autopilot::cli {
namespace {

namespace words = learning::words;

// Unknown is null.
void known_number(api::JsonWriter& json, std::string_view name, std::optional<double> number) {
  if (number)
    json.number(name, *number);
  else
    json.null(name);
}

void write_node_time(api::JsonWriter& json, const learning::NodeTime& time) {
  json.begin_object("availability");
  known_number(json, "share", time.availability());
  json.count("nodes", time.nodes);
  json.number("nodeHours", time.known_hours);
  json.number("unusableHours", time.unusable_hours);
  json.count("faults", time.faults);
  json.count("repairs", time.repairs);
  json.count("faultsOfUnknownHealth", time.of_unknown);
  json.end_object();
}

void write_class(api::JsonWriter& json, const learning::ClassFigures& figures) {
  json.begin_object();
  json.word("class", word_of(words::kFaultClasses, figures.kind));
  json.count("faults", figures.faults);
  json.count("open", figures.open);
  known_number(json, "mtbfHours", figures.mtbf_hours);
  known_number(json, "mtbfHoursLow", figures.mtbf_low_hours);
  known_number(json, "mtbfHoursHigh", figures.mtbf_high_hours);
  json.count("ended", figures.ended);
  known_number(json, "mttrHours", figures.mttr_hours);
  json.end_object();
}

void write_faults(api::JsonWriter& json, const learning::FaultFigures& figures) {
  json.begin_list("faultClasses");
  for (const learning::ClassFigures& one : figures.classes)
    write_class(json, one);
  json.end_list();
  json.count("faultsLabelledHealthy", figures.labelled_healthy);
  json.begin_object("detectionDelay");
  json.count("faults", figures.delay.known);
  json.count("unknown", figures.delay.unknown);
  known_number(json, "medianSeconds", figures.delay.median_seconds);
  known_number(json, "p90Seconds", figures.delay.p90_seconds);
  json.end_object();
  json.count("nodesWithFault", figures.nodes_with_fault);
  json.begin_list("worstNodes");
  for (const learning::NodeFaults& one : figures.worst) {
    json.begin_object();
    json.word("node", one.node);
    json.count("faults", one.faults);
    json.count("hardware", one.hardware);
    json.number("unusableHours", one.unusable_hours);
    json.end_object();
  }
  json.end_list();
}

// The members, in an object that is open.
void write_labelled(api::JsonWriter& json, const learning::TrustedPrecision& precision) {
  json.count("right", precision.right);
  json.count("wrong", precision.wrong);
  known_number(json, "precision", precision.precision);
  json.number("low", precision.bounds.low);
  json.number("high", precision.bounds.high);
}

void write_finding_quality(api::JsonWriter& json, const learning::FindingQuality& quality) {
  json.begin_object("findings");
  json.count("findings", quality.findings);
  json.count("unlabelled", quality.unlabelled);
  write_labelled(json, quality.all);
  json.begin_list("byTrust");
  for (const learning::TrustedPrecision& one : quality.by_trust) {
    json.begin_object();
    json.number("trust", one.trust);
    write_labelled(json, one);
    json.end_object();
  }
  json.end_list();
  json.end_object();
  json.begin_list("checks");
  for (const learning::CheckFinds& one : quality.checks) {
    json.begin_object();
    json.word("check", one.check);
    json.count("validations", one.validations);
    json.count("finds", one.finds);
    json.count("unique", one.unique);
    json.count("faults", one.faults);
    write_labelled(json, one.labelled);
    json.end_object();
  }
  json.end_list();
}

void write_work(api::JsonWriter& json, const learning::FleetReport& report) {
  const learning::JobFigures& jobs = report.jobs;
  json.begin_object("jobs");
  json.count("records", jobs.records);
  json.count("ended", jobs.ended);
  json.count("running", jobs.running);
  for (const auto& [outcome, word] : words::kOutcomes)
    json.count(word, jobs.outcomes[static_cast<std::size_t>(outcome)]);
  json.end_object();
  json.begin_object("lostGpuHours");
  json.count("jobs", jobs.lost.jobs);
  json.count("jobsWithUnknownGpus", jobs.lost.of_unknown);
  json.count("failedForUnknownReason", jobs.lost.failed_of_unknown);
  known_number(json, "upperBound", jobs.lost.most_hours);
  if (report.gpu_hour_price) {
    json.number("gpuHourPrice", *report.gpu_hour_price);
    known_number(json, "upperBoundOfCost", jobs.lost.most_cost);
  }
  json.word("assumption", "all work since the start of the job is lost: its checkpoints are unknown");
  json.end_object();
  json.begin_object("validations");
  for (const auto& [verdict, word] : words::kVerdicts)
    json.count(word, report.validations.verdicts[static_cast<std::size_t>(verdict)]);
  json.count("compared", report.validations.compared);
  json.count("worse", report.validations.worse);
  json.end_object();
}

}  // namespace

std::string report_json(const learning::FleetReport& report) {
  api::JsonWriter json;
  json.begin_object();
  json.time("since", report.interval.since);
  json.time("until", report.interval.until);
  write_node_time(json, report.time);
  write_faults(json, report.faults);
  write_finding_quality(json, report.findings);
  write_work(json, report);
  json.begin_object("lemons");
  write_lemons(json, report.lemons);
  json.end_object();
  json.end_object();
  return json.take();
}

}  // namespace autopilot::cli
