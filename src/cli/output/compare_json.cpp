// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <optional>

#include "api/json.hpp"
#include "cli/output/compare_pages.hpp"
#include "core/word_table.hpp"

namespace autopilot::cli {
namespace {

namespace cmp = workloads::compare;

constexpr WordTable<cmp::Comparability, 3> kComparabilityWords{
    {{cmp::Comparability::comparable, "comparable"},
     {cmp::Comparability::unproven, "unproven"},
     {cmp::Comparability::not_comparable, "not_comparable"}}};
constexpr WordTable<cmp::Agreement, 3> kAgreementWords{{{cmp::Agreement::same, "same"},
                                                        {cmp::Agreement::different, "different"},
                                                        {cmp::Agreement::unknown, "unknown"}}};
constexpr WordTable<cmp::Dimension, 5> kDimensionWords{{{cmp::Dimension::performance, "performance"},
                                                        {cmp::Dimension::elasticity, "elasticity"},
                                                        {cmp::Dimension::economics, "economics"},
                                                        {cmp::Dimension::data_access, "data_access"},
                                                        {cmp::Dimension::scalability, "scalability"}}};
constexpr WordTable<cmp::RemarkKind, 9> kRemarkWords{{{cmp::RemarkKind::unused_gpus, "unused_gpus"},
                                                      {cmp::RemarkKind::isolation, "isolation"},
                                                      {cmp::RemarkKind::starvation, "starvation"},
                                                      {cmp::RemarkKind::loaded_window, "loaded_window"},
                                                      {cmp::RemarkKind::clock, "clock"},
                                                      {cmp::RemarkKind::columns, "columns"},
                                                      {cmp::RemarkKind::meaning, "meaning"},
                                                      {cmp::RemarkKind::allocation, "allocation"},
                                                      {cmp::RemarkKind::margin, "margin"}}};
constexpr WordTable<cmp::ClaimVerdict, 3> kClaimWords{{{cmp::ClaimVerdict::holds, "holds"},
                                                       {cmp::ClaimVerdict::refuted, "refuted"},
                                                       {cmp::ClaimVerdict::untested, "untested"}}};

void number_or_null(api::JsonWriter& json, std::string_view name, const std::optional<double>& number) {
  if (number)
    json.number(name, *number);
  else
    json.null(name);
}

// The members, in an object that is open.
void write_source(api::JsonWriter& json, const cmp::Source& source) {
  json.word("file", source.file);
  if (source.first_line > 0) json.integer("firstLine", source.first_line);
  if (source.last_line > 0) json.integer("lastLine", source.last_line);
  if (source.column > 0) json.integer("column", source.column);
  json.word_if_any("name", source.name);
}

void write_sources(api::JsonWriter& json, const std::vector<cmp::Source>& sources) {
  json.begin_list("sources");
  for (const cmp::Source& source : sources) {
    json.begin_object();
    write_source(json, source);
    json.end_object();
  }
  json.end_list();
}

void write_verdict(api::JsonWriter& json, const cmp::Comparison& comparison) {
  json.word("comparability", word_of(kComparabilityWords, comparison.verdict.verdict));
  json.words("reasons", comparison.verdict.reasons());
  if (comparison.winner.empty())
    json.null("winner");
  else
    json.word("winner", comparison.winner);
  json.word("conclusion", comparison.conclusion);
  json.begin_list("conditions");
  for (const cmp::Condition& one : comparison.verdict.conditions) {
    json.begin_object();
    json.word("name", one.name);
    json.word_if_any("a", one.a);
    json.word_if_any("b", one.b);
    json.word("result", word_of(kAgreementWords, one.agreement));
    json.end_object();
  }
  json.end_list();
}

void write_value(api::JsonWriter& json, std::string_view name, const std::optional<cmp::FigureValue>& value) {
  if (!value) {
    json.null(name);
    return;
  }
  json.begin_object(name);
  json.number("value", value->value);
  write_sources(json, value->sources);
  json.end_object();
}

void write_figures(api::JsonWriter& json, const cmp::Comparison& comparison) {
  json.begin_list("figures");
  for (const cmp::Figure& figure : comparison.figures) {
    json.begin_object();
    json.word("dimension", word_of(kDimensionWords, figure.dimension));
    json.word("name", figure.name);
    json.word_if_any("unit", figure.unit);
    write_value(json, "a", figure.a);
    write_value(json, "b", figure.b);
    if (figure.a && figure.b) json.number("difference", figure.b->value - figure.a->value);
    if (figure.difference) {
      json.number("low", figure.difference->low);
      json.number("high", figure.difference->high);
    }
    json.word_if_any("caveat", figure.caveat);
    json.end_object();
  }
  json.end_list();
}

void write_gaps(api::JsonWriter& json, const std::vector<cmp::Gap>& gaps) {
  json.begin_list("gaps");
  for (const cmp::Gap& gap : gaps) {
    json.begin_object();
    json.number("afterSeconds", gap.after_s);
    json.number("lengthSeconds", gap.length_s);
    json.flag("repaired", gap.is_repaired);
    json.end_object();
  }
  json.end_list();
}

void write_series(api::JsonWriter& json, const cmp::Series& series) {
  const auto found = cmp::statistics_of(series.values);
  if (!found) return;
  json.begin_object();
  json.word("metric", series.metric);
  json.word_if_any("subject", series.subject);
  json.word_if_any("unit", series.unit);
  json.count("readings", found->readings);
  json.count("missing", series.missing);
  json.number("mean", found->mean);
  json.number("deviation", found->deviation);
  json.number("median", found->median);
  json.number("p95", found->p95);
  json.number("min", found->least);
  json.number("max", found->most);
  number_or_null(json, "seconds", cmp::span_of(series));
  number_or_null(json, "intervalSeconds", series.interval_s);
  json.flag_if_set("assumedTimes", series.has_assumed_times);
  write_gaps(json, series.gaps);
  json.begin_object("source");
  write_source(json, series.source);
  json.end_object();
  json.end_object();
}

void write_measures(api::JsonWriter& json, const cmp::Side& side) {
  json.begin_list("measures");
  for (const cmp::Measure& measure : side.measures) {
    json.begin_object();
    json.word("metric", measure.metric);
    json.word_if_any("subject", measure.subject);
    json.word_if_any("unit", measure.unit);
    json.number("value", measure.value);
    if (measure.threshold) json.number("threshold", *measure.threshold);
    json.begin_object("source");
    write_source(json, measure.source);
    json.end_object();
    json.end_object();
  }
  json.end_list();
}

void write_side(api::JsonWriter& json, std::string_view name, const cmp::Side& side) {
  json.begin_object(name);
  json.word("name", side.name);
  number_or_null(json, "seconds", cmp::duration_of(side));
  const cmp::GpuHours hours = cmp::gpu_hours_of(side);
  number_or_null(json, "gpuHoursAllocated", hours.allocated);
  number_or_null(json, "gpuHoursUsed", hours.used);
  json.begin_list("series");
  for (const cmp::Series& series : side.series)
    write_series(json, series);
  json.end_list();
  write_measures(json, side);
  json.words("files", side.files);
  json.begin_list("leftOut");
  for (const cmp::LeftOut& one : side.left_out) {
    json.begin_object();
    json.word("file", one.file);
    json.word("reason", one.reason);
    json.end_object();
  }
  json.end_list();
  json.words("notes", side.notes);
  json.end_object();
}

void write_remarks(api::JsonWriter& json, const cmp::Comparison& comparison) {
  json.begin_list("remarks");
  for (const cmp::Remark& remark : comparison.remarks) {
    json.begin_object();
    json.word("kind", word_of(kRemarkWords, remark.kind));
    json.word("side", remark.side);
    json.word("text", remark.text);
    write_sources(json, remark.sources);
    json.end_object();
  }
  json.end_list();
}

void write_claims(api::JsonWriter& json, const cmp::Comparison& comparison) {
  json.begin_list("claims");
  for (const cmp::CheckedClaim& checked : comparison.claims) {
    json.begin_object();
    json.word("result", word_of(kClaimWords, checked.verdict));
    json.word("text", checked.claim.text);
    json.word_if_any("side", checked.claim.side);
    json.word_if_any("metric", checked.claim.metric);
    json.number("low", checked.claim.low);
    json.number("high", checked.claim.high);
    json.word("unit", checked.claim.unit);
    number_or_null(json, "measured", checked.measured);
    json.word("explanation", checked.explanation);
    json.begin_object("statedIn");
    write_source(json, checked.claim.source);
    json.end_object();
    write_sources(json, checked.sources);
    json.end_object();
  }
  json.end_list();
}

void write_costs(api::JsonWriter& json, const cmp::Comparison& comparison) {
  if (comparison.cost_file.empty()) return;
  json.begin_object("costs");
  json.word("file", comparison.cost_file);
  json.word("currency", comparison.currency);
  json.begin_list("lines");
  for (const cmp::CostLine& line : comparison.costs) {
    json.begin_object();
    json.word("name", line.name);
    number_or_null(json, "a", line.a);
    number_or_null(json, "b", line.b);
    json.word("formula", line.formula);
    json.end_object();
  }
  json.end_list();
  json.end_object();
}

}  // namespace

std::string compare_json(const cmp::Comparison& comparison) {
  api::JsonWriter json;
  json.begin_object();
  write_verdict(json, comparison);
  write_figures(json, comparison);
  write_remarks(json, comparison);
  write_claims(json, comparison);
  write_costs(json, comparison);
  write_side(json, "a", comparison.a);
  write_side(json, "b", comparison.b);
  json.end_object();
  return json.take();
}

}  // namespace autopilot::cli
