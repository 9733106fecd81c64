// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cli/comparison/prometheus_range.hpp"
#include "cli/comparison/recording_series.hpp"
#include "cli/output/compare_pages.hpp"
#include "core/result.hpp"
#include "tests/fuzz/targets.hpp"
#include "workloads/compare/claims.hpp"
#include "workloads/compare/comparison.hpp"
#include "workloads/compare/cost.hpp"
#include "workloads/compare/facts.hpp"
#include "workloads/compare/readers.hpp"

namespace autopilot::compare_fuzz {
namespace {

namespace cmp = workloads::compare;

void check(const cmp::Series& series) {
  AUTOPILOT_ASSERT(!series.metric.empty());
  AUTOPILOT_ASSERT(!series.values.empty());
  AUTOPILOT_ASSERT(series.seconds.empty() || series.seconds.size() == series.values.size());
  for (std::size_t i = 1; i < series.seconds.size(); ++i)
    AUTOPILOT_ASSERT(series.seconds[i] >= series.seconds[i - 1]);
  for (const double value : series.values)
    AUTOPILOT_ASSERT(std::isfinite(value));
}

void add(cmp::Side& side, Result<cmp::Readings> readings) {
  if (!readings) {
    AUTOPILOT_ASSERT(readings.error().code != Errc::internal);
    return;
  }
  for (const cmp::Series& series : readings->series)
    check(series);
  cmp::add_readings(side, std::move(*readings), "file");
}

cmp::Side side_of(std::string_view letter, std::string_view text) {
  cmp::Side side;
  side.letter = letter;
  side.name = letter;
  constexpr std::array formats{cmp::TextFormat::sar,      cmp::TextFormat::smi_csv,
                               cmp::TextFormat::csv,      cmp::TextFormat::nccl_tests,
                               cmp::TextFormat::sysbench, cmp::TextFormat::node_health_check};
  for (const cmp::TextFormat format : formats)
    add(side, cmp::parse_readings(format, text, "file", {2, 5.0}));
  add(side, cli::parse_prometheus_range(text, "file"));
  for (const api::JobFile file : api::kJobFiles) {
    cli::RecordingSeries recording;
    if (recording.add_file(file, text, "file")) add(side, recording.take());
  }
  if (auto facts = cmp::parse_facts(text, "file")) side.facts = std::move(*facts);
  cmp::complete(side);
  return side;
}

}  // namespace

// Any file of a side gives finite readings in the order of time, and a comparison in every form.
int run(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(cmp::format_of(text));
  cmp::Side a = side_of("A", text);
  cmp::Side b = side_of("B", text.substr(0, size / 2));
  std::optional<cmp::CostModel> cost;
  if (auto model = cmp::parse_cost(text, "file")) cost = std::move(*model);
  auto claims = cmp::claims_in_markdown(text, "file", a, b);
  if (const auto listed = cmp::parse_claims(text, "file"))
    claims.insert(claims.end(), listed->begin(), listed->end());
  const cmp::Comparison comparison = cmp::compare_sides(std::move(a), std::move(b), cost, claims);
  AUTOPILOT_ASSERT(comparison.winner.empty() || comparison.verdict.verdict == cmp::Comparability::comparable);
  AUTOPILOT_ASSERT(cli::compare_html(comparison).find("<script") == std::string::npos);
  static_cast<void>(cli::compare_markdown(comparison));
  static_cast<void>(cli::compare_text(comparison, {}));
  AUTOPILOT_ASSERT(cli::compare_json(comparison).ends_with("}\n"));
  return 0;
}

}  // namespace autopilot::compare_fuzz
