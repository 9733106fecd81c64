// SPDX-License-Identifier: Apache-2.0
#include "cli/output/compare_sections.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "cli/output/report_numbers.hpp"

namespace autopilot::cli {
namespace {

namespace cmp = workloads::compare;

constexpr std::string_view kUnknown = "unknown";

std::string sourced(const std::vector<cmp::Source>& sources) {
  std::string text;
  for (const cmp::Source& source : sources)
    text += (text.empty() ? "" : "; ") + cmp::to_string(source);
  return text;
}

std::string value_text(const std::optional<cmp::FigureValue>& value, const cmp::Figure& figure) {
  if (!value) return std::string(kUnknown);
  return cmp::number_text(value->value, figure_digits(figure)) +
         (figure.unit.empty() ? "" : " " + figure.unit);
}

std::string agreement_text(cmp::Agreement agreement) {
  switch (agreement) {
    case cmp::Agreement::same:
      return "same";
    case cmp::Agreement::different:
      return "different";
    case cmp::Agreement::unknown:
      break;
  }
  return std::string(kUnknown);
}

std::string or_unknown(const std::string& text) {
  return text.empty() ? std::string(kUnknown) : text;
}

Section comparability_section(const cmp::Comparison& comparison) {
  Section section{"Comparability: " + std::string(cmp::words_of(comparison.verdict.verdict)),
                  {"Condition", "A", "B", "Result"},
                  {},
                  {comparison.conclusion}};
  for (const cmp::Condition& one : comparison.verdict.conditions)
    section.rows.push_back({one.name, or_unknown(one.a), or_unknown(one.b), agreement_text(one.agreement)});
  if (comparison.verdict.verdict == cmp::Comparability::unproven)
    section.notes.push_back(
        "State what is unknown in facts.yaml in the folder of each side; docs/compare.md lists its keys.");
  return section;
}

std::string value_sources(const cmp::Figure& figure) {
  std::string text;
  if (figure.a) text = "A: " + sourced(figure.a->sources);
  if (figure.b) text += (text.empty() ? "B: " : "; B: ") + sourced(figure.b->sources);
  return text;
}

std::string missing_note(cmp::Dimension dimension) {
  switch (dimension) {
    case cmp::Dimension::performance:
      return "Neither side has a figure of performance.";
    case cmp::Dimension::elasticity:
      return "Unknown: neither side states a time to start, to scale or to recover (elasticity in "
             "facts.yaml, or a "
             "recording of the job).";
    case cmp::Dimension::economics:
      return "Unknown: no utilisation of GPUs with times.";
    case cmp::Dimension::data_access:
      return "Unknown: no file has rates of storage or network (sar -b, sar -d, sar -n DEV, a recording).";
    case cmp::Dimension::scalability:
      break;
  }
  return "Unknown: neither side states throughput at several numbers of nodes (scaling in facts.yaml).";
}

Section dimension_section(const cmp::Comparison& comparison, cmp::Dimension dimension) {
  Section section{std::string(cmp::words_of(dimension)),
                  {"Figure", "A", "B", "B - A, 95 % bounds", "Caveat", "Source"},
                  {},
                  {}};
  for (const cmp::Figure& figure : comparison.figures)
    if (figure.dimension == dimension)
      section.rows.push_back({figure.name, value_text(figure.a, figure), value_text(figure.b, figure),
                              difference_text(figure), figure.caveat, value_sources(figure)});
  if (section.rows.empty()) section.notes.push_back(missing_note(dimension));
  return section;
}

std::string money_text(const std::optional<double>& amount) {
  return amount ? fixed_text(*amount, 2) : std::string(kUnknown);
}

Section cost_section(const cmp::Comparison& comparison) {
  Section section{"Costs in " + comparison.currency,
                  {"Figure", "A", "B", "Formula"},
                  {},
                  {"Prices: " + comparison.cost_file}};
  for (const cmp::CostLine& line : comparison.costs)
    section.rows.push_back({line.name, money_text(line.a), money_text(line.b), line.formula});
  return section;
}

Section remarks_section(const cmp::Comparison& comparison) {
  Section section{"What the data shows besides means", {"Side", "Remark", "Source"}, {}, {}};
  for (const cmp::Remark& remark : comparison.remarks)
    section.rows.push_back({remark.side, remark.text, sourced(remark.sources)});
  if (section.rows.empty()) section.notes.push_back("Nothing.");
  return section;
}

std::string claim_verdict(cmp::ClaimVerdict verdict) {
  switch (verdict) {
    case cmp::ClaimVerdict::holds:
      return "holds";
    case cmp::ClaimVerdict::refuted:
      return "refuted";
    case cmp::ClaimVerdict::untested:
      break;
  }
  return "not tested";
}

std::string claimed_text(const cmp::Claim& claim) {
  std::string text = cmp::number_text(claim.low);
  if (claim.high != claim.low) text += " to " + cmp::number_text(claim.high);
  return text + " " + claim.unit;
}

Section claims_section(const cmp::Comparison& comparison) {
  Section section{"Claims", {"Result", "Side", "Claim", "Number", "What the data shows", "Source"}, {}, {}};
  for (const cmp::CheckedClaim& checked : comparison.claims) {
    std::vector<cmp::Source> sources{checked.claim.source};
    sources.insert(sources.end(), checked.sources.begin(), checked.sources.end());
    section.rows.push_back({claim_verdict(checked.verdict), or_unknown(checked.claim.side),
                            checked.claim.text, claimed_text(checked.claim), checked.explanation,
                            sourced(sources)});
  }
  section.notes.push_back(
      "A claim holds within 10 % of its number (2 % for the size of the memory, at least half a percent "
      "point for "
      "percents), or within its own tolerance.");
  return section;
}

std::vector<std::string> series_row(const std::string& side, const cmp::Series& series) {
  const auto found = *cmp::statistics_of(series.values);
  return {side,
          series.metric + (series.subject.empty() ? "" : ", " + series.subject),
          std::to_string(found.readings) +
              (series.missing > 0 ? " (" + std::to_string(series.missing) + " missing)" : ""),
          cmp::number_text(found.mean) + " " + series.unit,
          cmp::number_text(found.median),
          cmp::number_text(found.p95),
          cmp::number_text(found.most),
          cmp::number_text(found.deviation),
          std::to_string(series.gaps.size()),
          cmp::to_string(series.source)};
}

Section series_section(const cmp::Comparison& comparison) {
  Section section{
      "All series",
      {"Side", "Metric", "Readings", "Mean", "Median", "p95", "Maximum", "Deviation", "Gaps", "Source"},
      {},
      {}};
  for (const cmp::Side* side : {&comparison.a, &comparison.b})
    for (const cmp::Series& series : side->series)
      if (!series.values.empty()) section.rows.push_back(series_row(side->letter, series));
  return section;
}

Section files_section(const cmp::Comparison& comparison) {
  Section section{"Files", {"Side", "File", "Result"}, {}, {}};
  for (const cmp::Side* side : {&comparison.a, &comparison.b}) {
    for (const std::string& file : side->files)
      section.rows.push_back({side->letter, file, "read"});
    for (const cmp::LeftOut& one : side->left_out)
      section.rows.push_back({side->letter, one.file, "left out: " + one.reason});
    for (const std::string& note : side->notes)
      section.notes.push_back(side->letter + ": " + note);
  }
  return section;
}

}  // namespace

int figure_digits(const cmp::Figure& figure) {
  return figure.a && figure.b ? cmp::digits_that_differ(figure.a->value, figure.b->value) : cmp::kUsualDigits;
}

std::string difference_text(const cmp::Figure& figure) {
  if (!figure.a || !figure.b) return "";
  std::string text = cmp::number_text(figure.b->value - figure.a->value);
  if (figure.difference)
    text += " (" + cmp::number_text(figure.difference->low) + " to " +
            cmp::number_text(figure.difference->high) + ")";
  return text;
}

std::string compare_heading(const cmp::Comparison& comparison) {
  return "A (" + comparison.a.name + ") and B (" + comparison.b.name +
         "): " + std::string(cmp::words_of(comparison.verdict.verdict));
}

std::vector<Section> compare_sections(const cmp::Comparison& comparison) {
  std::vector<Section> sections{comparability_section(comparison)};
  for (const cmp::Dimension dimension : cmp::kDimensions) {
    sections.push_back(dimension_section(comparison, dimension));
    if (dimension == cmp::Dimension::economics && !comparison.costs.empty())
      sections.push_back(cost_section(comparison));
  }
  sections.push_back(remarks_section(comparison));
  if (!comparison.claims.empty()) sections.push_back(claims_section(comparison));
  sections.push_back(series_section(comparison));
  sections.push_back(files_section(comparison));
  return sections;
}

}  // namespace autopilot::cli
