// SPDX-License-Identifier: Apache-2.0
#include "workloads/compare/claims.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/parse.hpp"
#include "core/word_table.hpp"
#include "core/yaml.hpp"

namespace autopilot::workloads::compare {
namespace {

constexpr WordTable<ClaimedStatistic, 5> kStatistics{{
    {ClaimedStatistic::mean, "mean"},
    {ClaimedStatistic::median, "median"},
    {ClaimedStatistic::p95, "p95"},
    {ClaimedStatistic::most, "max"},
    {ClaimedStatistic::least, "min"},
}};

std::optional<ClaimedStatistic> parse_statistic(std::string_view word) {
  return value_of(kStatistics, word);
}

constexpr double kTolerance = 0.1;
constexpr double kToleranceOfSize = 0.02;
constexpr double kLeastTolerance_percent = 0.5;  // of values in percent

struct UnitSize {
  std::string_view unit;
  double bytes;
};
constexpr std::array<UnitSize, 8> kSizes{{{"B", 1},
                                          {"kB", 1024},  // of sar
                                          {"MB", 1e6},
                                          {"GB", 1e9},
                                          {"TB", 1e12},
                                          {"MiB", 1048576.0},
                                          {"GiB", 1073741824.0},
                                          {"TiB", 1099511627776.0}}};

std::optional<double> bytes_of(std::string_view unit) {
  for (const UnitSize& known : kSizes)
    if (known.unit == unit) return known.bytes;
  return std::nullopt;
}

struct Converted {
  double value = 0;
  std::string unit;
};

// A number in the unit of the data, in the unit of the claim. Many write GB and mean GiB: of both the number
// that is nearer to the claim counts. nullopt: the units do not fit.
std::optional<Converted> in_unit(double value, std::string_view from, const Claim& claim) {
  if (from == claim.unit) return Converted{value, claim.unit};
  const auto of_from = bytes_of(from);
  const auto of_to = bytes_of(claim.unit);
  if (!of_from || !of_to) return std::nullopt;
  Converted found{value * *of_from / *of_to, claim.unit};
  if (claim.unit.size() != 2 || claim.unit == "kB") return found;
  const std::string binary{claim.unit[0], 'i', 'B'};
  const double other = value * *of_from / *bytes_of(binary);
  if (std::abs(other - claim.low) < std::abs(found.value - claim.low)) found = {other, binary};
  return found;
}

double statistic_of(const Statistics& all, ClaimedStatistic wanted) {
  switch (wanted) {
    case ClaimedStatistic::median:
      return all.median;
    case ClaimedStatistic::p95:
      return all.p95;
    case ClaimedStatistic::most:
      return all.most;
    case ClaimedStatistic::least:
      return all.least;
    case ClaimedStatistic::mean:
      break;
  }
  return all.mean;
}

bool is_within(const Claim& claim, double measured) {
  const double relative =
      claim.tolerance.value_or(claim.metric == "mem.total" ? kToleranceOfSize : kTolerance);
  const double least = claim.unit == "%" ? kLeastTolerance_percent : 0;
  const double below = std::max(relative * std::abs(claim.low), least);
  const double above = std::max(relative * std::abs(claim.high), least);
  return measured >= claim.low - below && measured <= claim.high + above;
}

// Series of the claim: the main one of each subject. GPUs that the job does not use do not count.
std::vector<const Series*> series_for(const Claim& claim, const Side& side) {
  std::vector<const Series*> found;
  const auto used = used_gpus_of(side);
  for (const Series* series : series_of(side, claim.metric)) {
    const Series* best = main_series(side, claim.metric, series->subject);
    const bool is_unused = claim.metric.starts_with("gpu.") && !used.empty() &&
                           std::none_of(used.begin(), used.end(),
                                        [best](const Series* gpu) { return gpu->subject == best->subject; });
    if (!is_unused && std::find(found.begin(), found.end(), best) == found.end()) found.push_back(best);
  }
  return found;
}

struct OtherNumber {
  std::string_view name;
  double value;
};

// What a wrong number may be instead.
std::string likely_source(const Claim& claim, const Side& side, const std::vector<const Series*>& all) {
  const auto names_it = [&claim](const Series& series, std::string_view name, double value) -> std::string {
    const auto found = in_unit(value, series.unit, claim);
    if (!found || std::abs(found->value - claim.low) > kToleranceOfSize * std::abs(claim.low)) return {};
    return " The number is near " + std::string(name) + " of " + series.source.name + " (" +
           number_text(found->value) + " " + found->unit + ").";
  };
  for (const Series* series : all) {
    const auto statistics = statistics_of(series->values);
    for (const OtherNumber& other :
         {OtherNumber{"the maximum", statistics->most}, OtherNumber{"the median", statistics->median},
          OtherNumber{"the 95th percentile", statistics->p95},
          OtherNumber{"the first reading", series->values.front()}})
      if (auto text = names_it(*series, other.name, other.value); !text.empty()) return text;
  }
  if (!claim.metric.starts_with("mem.")) return {};
  for (const Series& series : side.series)
    if (series.metric.starts_with("mem.") && series.metric != claim.metric)
      for (const double value : {series.values.front(), statistics_of(series.values)->mean})
        if (auto text =
                names_it(series, value == series.values.front() ? "the first reading" : "the mean", value);
            !text.empty())
          return text;
  return {};
}

void explain_meaning(CheckedClaim& checked) {
  if (checked.claim.metric == "gpu.memory_busy" && checked.claim.unit == "%")
    checked.explanation +=
        " The number is the time in which the memory controller is busy, not how much memory is occupied.";
}

CheckedClaim untested(const Claim& claim, std::string why) {
  CheckedClaim checked;
  checked.claim = claim;
  checked.explanation = std::move(why);
  return checked;
}

Claim read_claim(YamlMap& map, const std::string& file) {
  Claim claim;
  claim.text = map.word("text").value_or("");
  claim.side = map.required_word("side");
  if (!claim.side.empty() && claim.side != "A" && claim.side != "B")
    map.problem(map.line_of("side"), "side must be A or B");
  claim.metric = map.required_word("metric");
  claim.unit = map.required_word("unit");
  claim.low = claim.high = map.required_number("value");
  claim.statistic =
      map.choice<ClaimedStatistic>("statistic", parse_statistic, {"mean", "median", "p95", "max", "min"})
          .value_or(ClaimedStatistic::mean);
  claim.tolerance = map.number("tolerance");
  claim.source = {file, map.line(), map.line(), 0, {}};
  if (claim.tolerance && (*claim.tolerance < 0 || *claim.tolerance > 1))
    map.problem(map.line_of("tolerance"), "tolerance must be between 0 and 1");
  if (claim.text.empty())
    claim.text = claim.metric + " of " + claim.side + " is " + number_text(claim.low) + " " + claim.unit;
  return claim;
}

}  // namespace

Result<std::vector<Claim>> parse_claims(std::string_view text, const std::string& file) {
  YamlProblems problems(file);
  const YamlNode node = parse_yaml(text, problems);
  std::vector<Claim> claims;
  if (problems.empty()) {
    YamlMap map(node, "claims", problems);
    const YamlNode* list = map.list("claims");
    if (list == nullptr && !map.has("claims")) map.problem(1, "the file needs the list claims");
    if (list != nullptr && list->items.size() > kMaxClaims)
      map.problem(list->line, "more than " + std::to_string(kMaxClaims) + " claims");
    else if (list != nullptr)
      for (const YamlNode& item : list->items) {
        YamlMap one = map.nested(item, "claim");
        claims.push_back(read_claim(one, file));
      }
  }
  TRY_STATUS(problems.status());
  return claims;
}

CheckedClaim check_claim(const Claim& claim, const Side& a, const Side& b) {
  if (claim.side.empty()) return untested(claim, "The sentence does not name a side.");
  if (claim.metric.empty()) return untested(claim, "The sentence does not name a metric that was measured.");
  const Side& side = claim.side == "A" ? a : b;
  const auto all = series_for(claim, side);
  if (all.empty()) return untested(claim, "No file of " + claim.side + " has " + claim.metric + ".");
  CheckedClaim checked;
  checked.claim = claim;
  bool holds = true;
  double sum = 0;
  for (const Series* series : all) {
    const double value = statistic_of(*statistics_of(series->values), claim.statistic);
    const auto converted = in_unit(value, series->unit, claim);
    if (!converted)
      return untested(claim,
                      claim.metric + " is in " + series->unit + ", the sentence has " + claim.unit + ".");
    holds = holds && is_within(claim, converted->value);
    sum += converted->value;
    checked.explanation += (checked.explanation.empty() ? "" : ", ") +
                           (series->subject.empty() ? std::string() : series->subject + ": ") +
                           std::string(word_of(kStatistics, claim.statistic)) + " of " + series->source.name +
                           " " + number_text(converted->value) + " " + converted->unit;
    checked.sources.push_back(series->source);
  }
  checked.explanation += ".";
  checked.measured = sum / static_cast<double>(all.size());
  checked.verdict = holds ? ClaimVerdict::holds : ClaimVerdict::refuted;
  if (!holds) checked.explanation += likely_source(claim, side, all);
  explain_meaning(checked);
  return checked;
}

}  // namespace autopilot::workloads::compare
