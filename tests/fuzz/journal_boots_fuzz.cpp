// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "catalog/catalog.hpp"
#include "cli/output/why_page.hpp"
#include "cli/why/log_evidence.hpp"
#include "core/parse.hpp"
#include "core/result.hpp"
#include "host/kernel_log/journal_boots.hpp"
#include "host/memory/memory_groups.hpp"
#include "tests/fuzz/targets.hpp"
#include "why/report.hpp"

namespace autopilot::journal_boots_fuzz {
namespace {

std::vector<why::Evidence> evidence_of(std::string_view text) {
  host::JournalReader reader;
  for (const std::string_view line : split(text, '\n'))
    reader.add_line(line);
  const auto boots = reader.finish();
  AUTOPILOT_ASSERT(boots.size() <= host::JournalReader::kMaxBoots);
  std::vector<why::Evidence> all;
  for (const host::JournaledBoot& boot : boots) {
    AUTOPILOT_ASSERT(boot.first <= boot.last);
    AUTOPILOT_ASSERT(boot.records.size() <= host::JournaledBoot::kMaxRecords);
    const cli::LogContext context{.source = "journal", .boots_ago = 1};
    std::ranges::move(cli::evidence_in(boot, context), std::back_inserter(all));
    std::ranges::move(
        cli::evidence_in({boot.records.begin(), boot.records.end()}, context, catalog::builtin()),
        std::back_inserter(all));
  }
  return all;
}

}  // namespace

// Whatever a journal holds, the answer fits a screen and contains no control character.
int run(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)host::parse_group_kills(text);
  why::Report report;
  report.explanation = why::explain(evidence_of(text), report.target, catalog::builtin());
  const std::string page = cli::render_why(report, catalog::builtin(), {});
  AUTOPILOT_ASSERT(std::ranges::count(page, '\n') <= static_cast<std::ptrdiff_t>(cli::kWhyPageLines));
  for (const char sign : page)
    AUTOPILOT_ASSERT(static_cast<unsigned char>(sign) >= ' ' || sign == '\n');
  AUTOPILOT_ASSERT(!cli::why_json(report, catalog::builtin()).empty());
  return 0;
}

}  // namespace autopilot::journal_boots_fuzz
