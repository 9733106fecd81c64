// SPDX-License-Identifier: Apache-2.0
#include "cli/output/validation_tables.hpp"

#include <cstddef>
#include <string_view>
#include <utility>

#include "cli/output/layout.hpp"
#include "cli/output/phrases.hpp"

namespace autopilot::cli {
namespace {

using learning::Verdict;

constexpr std::size_t kMostGpusShown = 8;

Health health_of_result(const learning::ValidationResult& result) {
  switch (result.record.verdict) {
    case Verdict::passed:
      return Health::healthy;
    case Verdict::failed:
      return Health::failed;
    case Verdict::unknown:
      break;
  }
  return Health::unknown;
}

std::string_view verdict_text(Verdict verdict) {
  switch (verdict) {
    case Verdict::passed:
      return "passed";
    case Verdict::failed:
      return "failed";
    case Verdict::unknown:
      break;
  }
  return "unknown";
}

std::string_view depth_text(learning::Depth depth) {
  switch (depth) {
    case learning::Depth::passive:
      return "passive";
    case learning::Depth::quick:
      return "quick";
    case learning::Depth::deep:
      return "deep";
    case learning::Depth::pair:
      break;
  }
  return "pair";
}

std::string gpus_text(const std::vector<int>& gpus) {
  if (gpus.empty()) return "-";
  std::string text;
  for (std::size_t at = 0; at < gpus.size() && at < kMostGpusShown; ++at)
    text += (at == 0 ? "" : ",") + std::to_string(gpus[at]);
  return gpus.size() > kMostGpusShown ? text + ",..." : text;
}

}  // namespace

std::string render_validations(const api::ValidationList& list, WallTime now, const TableStyle& style) {
  std::string out = simulated_line(list.is_simulated, style);
  std::vector<Row> rows;
  for (const learning::ValidationResult& result : list.validations)
    rows.push_back({{age_of(result.record.end, now)},
                    {std::string(verdict_text(result.record.verdict)), color_of(health_of_result(result))},
                    {std::string(depth_text(result.record.depth))},
                    {gpus_text(result.gpus)},
                    {result.record.job + ": " + result.summary}});
  if (rows.empty())
    out += "No validation has ended since the agent started.\n";
  else
    out += render_columns({"AGE", "RESULT", "DEPTH", "GPUS", "JOB"}, std::move(rows), style);
  if (list.waiting > 0) out += "\nNot ended yet: " + std::to_string(list.waiting) + "\n";
  return out;
}

std::vector<std::string> sentences_of(const learning::ValidationResult& result) {
  std::string first = std::string(verdict_text(result.record.verdict)) + ": " + result.summary;
  if (result.summary.find(result.record.cause) != std::string::npos) return {std::move(first)};
  return {std::move(first), result.record.cause};
}

Health health_of(const api::ValidationList& list) {
  Health health = Health::healthy;
  for (const learning::ValidationResult& result : list.validations)
    health = worst(health, health_of_result(result));
  return health;
}

}  // namespace autopilot::cli
