// SPDX-License-Identifier: Apache-2.0
#include "report/recall.hpp"

#include <utility>

#include "core/parse.hpp"

namespace autopilot::report {
namespace {

constexpr std::size_t kMostRecalled = 1024;

// "<boot id>/<number>"; 0 when it is of another boot.
std::uint64_t number_of_boot(std::string_view text, std::string_view boot_id) {
  const auto slash = text.rfind('/');
  if (slash == std::string_view::npos || text.substr(0, slash) != boot_id) return 0;
  return parse_number<std::uint64_t>(text.substr(slash + 1)).value_or(0);
}

using Numbers = std::map<std::string, std::uint64_t, std::less<>>;

// check id -> the number of this boot under the key prefix + id.
Result<Numbers> numbers_of_boot(const store::Journal& journal, std::string_view prefix,
                                const std::string& boot_id, std::span<const checks::Check> checks) {
  Numbers numbers;
  for (const checks::Check& check : checks) {
    const auto text = TRY(journal.value(std::string(prefix) + check.info.id));
    if (text) numbers[check.info.id] = number_of_boot(*text, boot_id);
  }
  return numbers;
}

Result<std::uint64_t> next_incident(const store::Journal& journal) {
  const auto text = TRY(journal.value(runtime::kNextIncident));
  return parse_number<std::uint64_t>(text.value_or("1")).value_or(1);
}

}  // namespace

Result<runtime::Remembered> recall(const store::Journal& journal, const std::string& boot_id,
                                   std::span<const checks::Check> checks) {
  runtime::Remembered remembered;
  for (store::StoredFinding& stored : TRY(journal.findings()))
    remembered.state.findings.push_back({std::move(stored.check), std::move(stored.finding),
                                         std::move(stored.boot_id), std::move(stored.state)});
  for (Incident& incident : TRY(journal.incidents(false, kMostRecalled)))
    remembered.state.incidents.push_back(std::move(incident));
  remembered.state.next_incident = TRY(next_incident(journal));
  remembered.last_samples = TRY(journal.last_samples(boot_id));
  remembered.last_event_id = TRY(journal.last_event_id());
  remembered.events = TRY(journal.newest_events(runtime::EventLog::kKept));
  remembered.facts.pass_records = TRY(journal.pass_records());
  for (const std::string_view name : {runtime::kGpuResets, runtime::kMemoryLossFact, runtime::kRunIsOpen,
                                      kWrittenVerdict, kReportUnread, kLastInstance})
    if (auto value = TRY(journal.value(name))) remembered.facts.values.emplace(name, std::move(*value));
  remembered.kernel_log_positions = TRY(numbers_of_boot(journal, "kernel_log.position/", boot_id, checks));
  remembered.kernel_log_unreported = TRY(numbers_of_boot(journal, "kernel_log.untold/", boot_id, checks));
  remembered.lost = remembered.facts.value(runtime::kMemoryLossFact);
  return remembered;
}

ClusterMemory cluster_memory(const runtime::LastingFacts& facts) {
  const std::string written = facts.value(kWrittenVerdict);
  return {written.empty() ? std::nullopt : incidents::parse_written_verdict(written), facts.pass_records,
          facts.value(kReportUnread) == "true", facts.value(kLastInstance)};
}

}  // namespace autopilot::report
