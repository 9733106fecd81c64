// SPDX-License-Identifier: Apache-2.0
#include "cli/output/evidence_tables.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "cli/output/layout.hpp"
#include "cli/output/phrases.hpp"

namespace autopilot::cli {
namespace {

std::string kib_text(std::uint64_t bytes) {
  constexpr std::uint64_t kKib = 1024;
  return std::to_string((bytes + kKib - 1) / kKib) + " KiB";
}

}  // namespace

std::string render_evidence_list(const std::vector<api::CapturedEvidence>& evidence, WallTime now,
                                 const TableStyle& style) {
  std::vector<Row> rows;
  for (const api::CapturedEvidence& captured : evidence) {
    std::uint64_t bytes = 0;
    for (const api::EvidenceItem& item : captured.items)
      bytes += item.bytes;
    const auto files = std::ranges::count_if(
        captured.items, [](const api::EvidenceItem& item) { return !item.file.empty(); });
    rows.push_back({{captured.id},
                    {age_of(captured.time, now)},
                    {std::to_string(files)},
                    {kib_text(bytes)},
                    {captured.job}});
  }
  return render_columns({"EVIDENCE", "AGE", "FILES", "SIZE", "JOB"}, std::move(rows), style);
}

std::string render_evidence(const api::CapturedEvidence& captured, WallTime now, const TableStyle& style) {
  std::vector<Row> rows;
  for (const api::EvidenceItem& item : captured.items)
    rows.push_back({{item.file.empty() ? "-" : item.file},
                    {item.file.empty() ? "-" : kib_text(item.bytes)},
                    {item.problem.empty() ? item.name : item.name + ": " + item.problem}});
  return printable(captured.id + " of " + captured.job + ", captured " + age_of(captured.time, now) +
                   " ago (" + format_time(captured.time) + ")") +
         "\n" + render_columns({"FILE", "SIZE", "ITEM"}, std::move(rows), style);
}

}  // namespace autopilot::cli
